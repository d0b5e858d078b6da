"""What `ganger types` writes, under the strictest rules of both type checkers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "core" / "cli" / "tests" / "types"
EXAMPLE = ROOT / "examples" / "10-typed-client"
PACKAGES = [ROOT / "bindings-python" / "python", ROOT / "worker-sdk" / "python" / "src"]

RIGHT = """\
from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ganger import CallFuture, CallStream, Pool

if TYPE_CHECKING:
    from prices_client import Place, Tree, Workers as Prices
    from shapes_client import Shape, Workers as Shapes


async def use(pool: Pool) -> None:
    prices: Prices = pool.proxy(timeout="5s")
    place: Place = {"city": "Ur"}
    price: float = prices.convert(3, "EUR", place=place)
    future: CallFuture[float] = prices.convert.options(timeout=0.5).submit(amount=price)
    price = await future
    tree: Tree = {"name": "a", "children": []}
    pruned: Tree | None = prices.deep.down.prune(tree, deepest=2)
    counted: CallStream[int] = prices.count.stream(to=3)
    async for number in counted:
        price += number
    for word in prices["words.stream"].stream("a b"):
        print(word.upper(), pruned)
    total: int = prices.total.options(inputs=[1, 2])(start=1)
    data, moment = prices.mixed((1, "a"), {"a": [1]}, None, datetime.now(UTC), bytearray(), more=1)
    print(total, data.hex(), moment, prices.nothing(), prices.grow(tree)["name"])


def also(pool: Pool) -> None:
    shapes: Shapes = pool.proxy()
    shape: Shape = {"kind": "group", "of-what": [{"kind": "circle", "radius": 1}]}
    turned: dict[str, float | None] = shapes.rotate(shape)
    for x, y in shapes.corners.stream(sides=3):
        print(x + y, turned)
    shapes.measure({"unit": 3, "with space": {"a": "", "b": None}})
"""

WRONG = """\
from __future__ import annotations

from typing import TYPE_CHECKING

from ganger import Pool

if TYPE_CHECKING:
    from prices_client import Workers as Prices
    from shapes_client import Workers as Shapes


def use(pool: Pool) -> None:
    prices: Prices = pool.proxy()
    prices.convert("3")  # wrong
    prices.convert(3, currency="GBP")  # wrong
    prices.convert(3, "EUR", {"city": "Ur"})  # wrong
    prices.convert(3, curency="EUR")  # wrong
    prices.convert()  # wrong
    prices.convert(3, place={"town": "Ur"})  # wrong
    prices.convrt(3)  # wrong
    prices.convert.submit([])  # wrong
    prices.convert.options(timout=1)  # wrong
    prices.count(to=3)  # wrong
    prices.nothing(1)  # wrong
    text: str = prices.convert(3)  # wrong
    shapes: Shapes = pool.proxy()
    shapes.corners.stream(3)  # wrong
    shapes.rotate({"kind": "circle"})  # wrong
    shapes.measure({"unit": "cm"})  # wrong
    print(text)
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    for file in [*CLIENTS.glob("*.pyi"), *EXAMPLE.glob("*.pyi"), EXAMPLE / "app.py"]:
        shutil.copy(file, tmp_path)
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path


def mypy(app: Path, *files: str) -> str:
    paths = [f"mypy_path = {':'.join(map(str, PACKAGES))}"]
    (app / "mypy.ini").write_text("\n".join(["[mypy]", "strict = True", *paths]))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *files]
    done = subprocess.run(command, cwd=app, capture_output=True, text=True)
    return done.stdout + done.stderr


def pyright(app: Path, *files: str) -> str:
    options = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": list(map(str, PACKAGES)),
        # A client is there for type checkers only.
        "reportMissingModuleSource": False,
    }
    (app / "pyrightconfig.json").write_text(json.dumps({**options, "include": list(files)}))
    command = [sys.executable, "-m", "pyright", "-p", "."]
    lines = subprocess.run(command, cwd=app, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(line for line in lines if " - " in line)


@pytest.mark.parametrize("check", [mypy, pyright])
def test_a_client_and_its_use_are_clean_under_strict(check: Callable[..., str], app: Path) -> None:
    clients = sorted(path.name for path in app.glob("*.pyi"))
    assert check(app, "right.py", "app.py", *clients) == ""


@pytest.mark.parametrize("check", [mypy, pyright])
def test_what_is_wrong_is_an_error_where_it_is(check: Callable[..., str], app: Path) -> None:
    expected = {number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")}
    found = {int(number) for number in re.findall(r"wrong\.py:(\d+):.*?error", check(app, "wrong.py"))}
    assert found == expected
