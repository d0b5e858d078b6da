"""The packages, installed where nothing else is: no clone beside them, no compiler on the path.

Runs the README's snippets.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
LIMIT_SECONDS = 120
SNIPPET = re.compile(r"<!-- (?P<file>[\w./-]+) -->\n```\w+\n(?P<text>.*?)```", re.DOTALL)


def snippets() -> dict[str, str]:
    """The README's code blocks that are files: an HTML comment before the block gives the name."""
    found = {match["file"]: match["text"] for match in SNIPPET.finditer((ROOT / "README.md").read_text())}
    assert {"workers/prices.py", "app.mjs", "app.py", "command.sh"} <= found.keys()
    return found


def printed(file: str) -> list[str]:
    """What the snippet's own comments say that it prints."""
    mark = "// → " if file.endswith("mjs") else "# → "
    return [line.split(mark)[1] for line in snippets()[file].splitlines() if "→ " in line]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere")
    for file, text in snippets().items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    return folder


def bare_environment(place: Path, *programs: Path) -> dict[str, str]:
    """Only the named programs and the system's most basic ones are on the path."""
    tools = place / "bin"
    tools.mkdir(exist_ok=True)
    for program in [*programs, *(Path(found) for name in ("sh", "env") if (found := shutil.which(name)))]:
        link = tools / program.name
        if not link.exists():
            link.symlink_to(program)
    assert not (tools / "cargo").exists()
    return {"PATH": str(tools), "HOME": str(place), "LANG": "C.UTF-8"}


def with_folder(environment: dict[str, str], folder: Path) -> dict[str, str]:
    return {**environment, "PATH": f"{folder}{os.pathsep}{environment['PATH']}"}


def run(command: list[str], place: Path, environment: dict[str, str] | None = None) -> list[str]:
    done = subprocess.run(
        command,
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()


def node_program() -> Path:
    found = shutil.which("node")
    assert found
    return Path(os.path.realpath(found))


def test_the_npm_package_runs_the_readme_with_python_workers_that_nobody_installed(place: Path) -> None:
    (place / "package.json").write_text('{ "private": true, "type": "module" }')
    tarballs = [str(path) for path in DIST.glob("*.tgz")]
    assert len(tarballs) == (3 if sys.platform == "linux" else 2)
    run(["npm", "install", "--silent", "--no-audit", "--no-fund", *tarballs], place)
    python = Path(os.path.realpath(sys.executable))
    (place / "bin").mkdir(exist_ok=True)
    (place / "bin" / "python3").symlink_to(python)
    environment = bare_environment(place, node_program())
    assert run(["bin/node", "app.mjs"], place, environment) == printed("app.mjs")
    assert run(["sh", "command.sh"], place, with_folder(environment, place / "node_modules/.bin")) == printed(
        "command.sh"
    )


def test_the_wheels_run_the_readme(place: Path) -> None:
    run([os.path.realpath(sys.executable), "-m", "venv", "venv"], place)
    wheels = [str(path) for path in DIST.glob("*.whl")]
    assert len(wheels) == 2
    run(["venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels], place)
    environment = bare_environment(place)
    assert run(["venv/bin/python", "app.py"], place, environment) == printed("app.py")
    assert run(["sh", "command.sh"], place, with_folder(environment, place / "venv/bin")) == printed(
        "command.sh"
    )
    call = ["call", "workers/prices.py", "convert", '{"amount": 3}']
    assert run(["venv/bin/python", "-m", "ganger", *call], place, environment) == ["3.3"]


def test_both_packages_run_webassembly(place: Path) -> None:
    shutil.copy(ROOT / "worker-sdk/wasm/examples/reverse.wat", place)
    python = """from ganger import Pool
with Pool(wasm="reverse.wat", workers=1) as pool:
    print(bytes(pool.call("reverse", "was")))
"""
    (place / "wasm.py").write_text(python)
    node = """import { Pool } from 'ganger'
const pool = new Pool({ wasm: 'reverse.wat', workers: 1 })
console.log(Buffer.from(await pool.call('reverse', 'was')).toString())
await pool.close()
"""
    (place / "wasm.mjs").write_text(node)
    environment = bare_environment(place, node_program())
    assert run(["venv/bin/python", "wasm.py"], place, environment) == ["b'saw'"]
    assert run(["bin/node", "wasm.mjs"], place, environment) == ["saw"]


def test_a_wheel_runs_node_workers_that_nobody_installed(place: Path) -> None:
    (place / "shout.mjs").write_text("export const shout = (text) => text.toUpperCase()\n")
    pool = 'with Pool(node="shout.mjs", workers=1) as pool:\n    print(pool.call("shout", "hi"))\n'
    (place / "mixed.py").write_text(f"from ganger import Pool\n{pool}")
    environment = bare_environment(place, node_program())
    assert run(["venv/bin/python", "mixed.py"], place, environment) == ["HI"]


@pytest.mark.skipif(sys.platform != "linux", reason="no shared memory there")
def test_node_workers_look_at_large_inputs_where_they_lie(place: Path) -> None:
    mapped = """import { readFileSync } from 'node:fs'
const isMapped = () => readFileSync('/proc/self/maps', 'utf8').includes('memfd:ganger-input')
export const mapped = (input) => [input.length, isMapped()]
"""
    (place / "mapped.mjs").write_text(mapped)
    node = """import { Pool } from 'ganger'
const installed = ['node', 'node_modules/ganger-worker/dist/main.js', 'mapped.mjs']
for (const worker of [{ node: 'mapped.mjs' }, { command: installed }]) {
  const pool = new Pool({ ...worker, workers: 1 })
  console.log(...(await pool.call('mapped', Buffer.alloc(1e6))))
  await pool.close()
}
"""
    (place / "views.mjs").write_text(node)
    python = """from ganger import Pool
with Pool(node="mapped.mjs", workers=1) as pool:
    print(pool.call("mapped", bytes(1_000_000)))
"""
    (place / "views.py").write_text(python)
    environment = bare_environment(place, node_program())
    assert run(["bin/node", "views.mjs"], place, environment) == ["1000000 true"] * 2
    assert run(["venv/bin/python", "views.py"], place, environment) == ["[1000000, True]"]
