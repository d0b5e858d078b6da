"""TARGET: a file, a folder, a package, a module; names, imports between siblings, names that pickle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from host import SDK, START, Host, write

ACTION = "from ganger_worker import action\n"


def names(host: Host) -> list[str]:
    return [contract["name"] for contract in host.ready()]


def test_a_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        "workers/prices.py",
        ACTION + "import rates\n@action\ndef convert(x): return rates.RATE * x\n",
    )
    write(tmp_path, "workers/rates.py", "RATE = 2")
    write(tmp_path, "workers/_private.py", "raise Exception")
    write(
        tmp_path,
        "workers/a/b.py",
        ACTION + "from prices import convert\n@action\ndef fn(): return __name__\n",
    )
    write(
        tmp_path, "workers/p/__init__.py", ACTION + "from . import q\n@action\ndef top(): return q.deep()\n"
    )
    write(tmp_path, "workers/p/q.py", ACTION + "@action\ndef deep(): return __name__\n")
    with Host.start(tmp_path / "workers") as host:
        assert names(host) == ["a.b.fn", "p.top", "p.q.deep", "prices.convert"]
        assert host.result("prices.convert", 4) == 8
        assert host.result("a.b.fn") == "a.b"
        assert host.result("p.top") == "p.q"
        assert (
            host.error("convert", 4)["message"]
            == "no function 'convert'; the nearest name is 'prices.convert'"
        )


def test_a_folder_that_is_a_package(tmp_path: Path) -> None:
    write(tmp_path, "workers/__init__.py", "")
    write(
        tmp_path,
        "workers/prices.py",
        ACTION + "from .rates import RATE\n@action\ndef convert(x): return RATE * x\n",
    )
    write(tmp_path, "workers/rates.py", "RATE = 2")
    with Host.start("workers", cwd=tmp_path) as host:
        assert names(host) == ["prices.convert"]
        assert host.result("prices.convert", 4) == 8


def test_a_file_whose_name_belongs_to_another_module(tmp_path: Path) -> None:
    write(tmp_path, "json.py", ACTION + "@action\ndef dump(): return __name__\n")
    write(tmp_path, "my-file.py", ACTION + "@action\ndef f(): return 1\n")
    with Host.start(tmp_path) as host:
        assert names(host) == ["json.dump", "my-file.f"]
        assert host.result("my-file.f") == 1


def test_a_module(tmp_path: Path) -> None:
    write(
        tmp_path, "my/workers.py", ACTION + "from my.other import shared\n@action\ndef f(): return __name__\n"
    )
    write(tmp_path, "my/other.py", ACTION + "@action\ndef shared(): return __name__\n")
    with Host.start("my.workers", cwd=tmp_path) as host:
        assert names(host) == ["shared", "f"]
        assert host.result("f") == host.result("my.workers.f") == "my.workers"
        assert host.result("shared") == "my.other"


def test_names_that_are_given(tmp_path: Path) -> None:
    text = ACTION + "@action(name='g')\ndef f(): return 1\n@action(name='other.h')\ndef h(): return 2\n"
    write(tmp_path, "workers/code.py", text)
    with Host.start(tmp_path / "workers") as host:
        assert names(host) == ["code.g", "other.h"]
    with Host.start(tmp_path / "workers/code.py") as host:
        assert names(host) == ["g", "other.h"]
        assert host.result("code.g") == 1


def test_two_functions_of_one_name(tmp_path: Path) -> None:
    text = ACTION + "@action(name='f')\ndef a(): ...\n@action(name='f')\ndef b(): ...\n"
    with Host.start(write(tmp_path, "code.py", text)) as host:
        assert host.next().body["message"] == "two functions are named 'f'"


def test_no_functions(tmp_path: Path) -> None:
    with Host.start(write(tmp_path, "code.py", "def f(): ...")) as host:
        assert names(host) == []
        assert "decorate them with @action" in host.error("f")["message"]


@pytest.mark.parametrize(
    ("python", "env"),
    [
        ([sys.executable, str(START)], {}),
        ([sys.executable, "-m", "ganger_worker"], {"PYTHONPATH": str(SDK / "src")}),
    ],
)
def test_both_ways_to_start(tmp_path: Path, python: list[str], env: dict[str, str]) -> None:
    with Host.start(
        write(tmp_path, "code.py", ACTION + "@action\ndef f(): return 1\n"), python, env=env
    ) as host:
        assert names(host) == ["f"]


def test_the_copy_beside_the_start_file_serves_as_packages_lay_it(tmp_path: Path) -> None:
    import shutil

    shutil.copy(START, tmp_path / "start.py")
    shutil.copytree(SDK / "src/ganger_worker", tmp_path / "ganger_worker")
    code = write(
        tmp_path,
        "user/code.py",
        ACTION + "import ganger_worker\n@action\ndef f(): return ganger_worker.__file__\n",
    )
    # -S: without the site's packages, so that none is installed.
    with Host.start(code, [sys.executable, "-S", str(tmp_path / "start.py")], env={"PYTHONPATH": ""}) as host:
        host.ready()
        assert Path(host.result("f")).parent == tmp_path / "ganger_worker"


def test_without_msgspec(tmp_path: Path) -> None:
    write(tmp_path, "user/msgspec.py", "raise ImportError('hidden')")
    text = "from collections.abc import Sequence\n" + ACTION
    text += "@action\ndef f(a: int, b=2): return {'sum': a + b}\n@action\ndef g(a: Sequence[int]): return a\n"
    code = write(tmp_path, "user/code.py", text)
    path = os.pathsep.join([str(tmp_path / "user"), str(SDK / "src")])
    with Host.start(code, env={"PYTHONPATH": path}) as host:
        f, g = host.ready()
        assert f["input"]["properties"] == {"a": {"type": "integer"}, "b": {"default": 2}}
        assert g["input"]["properties"] == {"a": {}}
        assert host.result("g", {"a": [1]}) == [1]
        assert host.result("f", {"a": 1}) == {"sum": 3}
        assert host.error("f", {"c": 1})["path"] == "$.c"
        assert host.error("f", {})["path"] == "$.a"


@pytest.mark.parametrize("name", ["token.py", "traceback.py", "inspect/__init__.py", "msgspec.py"])
def test_a_file_that_hides_a_module_of_the_library_harms_nothing(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "raise Exception('only the code of the user may want this')")
    text = ACTION + "from ganger_worker import context\n@action\ndef f(a: list[int] = ()): return a\n"
    text += "@action\ndef g(): 1 / 0\n@action\ndef h(): context.log.info('said')\n"
    with Host.start(write(tmp_path, "prices.py", text)) as host:
        assert names(host) == ["f", "g", "h"]
        assert host.result("f", {"a": [1]}) == [1]
        assert host.error("f", {"a": ["x"]})["path"] == "$.a[0]"
        assert host.error("g")["traceback"].startswith("Traceback")
        host.result("h")
        assert [got.body[2] for got in host.kept] == ["said"]


def test_usage(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, START], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 64
    assert ran.stderr.startswith("usage: ")
