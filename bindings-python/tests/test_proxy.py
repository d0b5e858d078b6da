"""Proxies: functions of workers as functions of the app, which are nothing else by mistake."""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ganger import InvalidInput, InvalidOption, NoSuchFunction, Pool
from support import BASICS, WORKERS

SHAPES = """
from typing import TypedDict
from ganger_worker import action

class Point(TypedDict):
    x: int
    y: int

@action(name="a.b.add")
def add(a: int, b: int = 1, *, c: int = 0) -> int:
    return a + b + c

@action(name="my-file.echo")
def echo(value):
    return value

@action
def norm(point: Point) -> int:
    return point["x"] + point["y"]

@action(name="words.stream")
def words(text: str):
    yield from text.split()

@action
def total(*numbers, **others):
    return [sum(numbers), others]

@action
def options(value=7):
    return value
"""
NODE = "export const first = (input, context) => [input, typeof context]\n"


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    path = tmp_path / "shapes.py"
    path.write_text(SHAPES)
    with Pool(python=path, workers=1, name="shapes") as pool:
        yield pool


def test_arguments_are_the_functions_own(pool: Pool) -> None:
    workers = pool.proxy()
    assert workers.a.b.add(1) == 2
    assert workers.a.b.add(1, 2, c=3) == 6
    assert workers.a.b.add(b=2, a=1) == 3
    assert workers["a.b.add"](1) == workers.a["b.add"](1) == 2
    assert workers.norm({"x": 1, "y": 2}) == workers.norm(x=1, y=2) == 3
    assert workers.total(1, 2, 3, more=None) == [6, {"more": None}]
    echo = workers["my-file"].echo
    for value in (None, {}, {"a": 1}, [1], b"bytes", bytearray(b"bytes"), "text"):
        assert echo(value) == value
    assert workers["options"](None) is None
    assert workers["options"]() == 7


def test_arguments_that_do_not_fit_are_refused_by_name(pool: Pool) -> None:
    add = pool.proxy().a.b.add
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: add("x", b=2), "$.a"),
        (lambda: add(), "$.a"),
        (lambda: add(1, 2, 3), "$"),
        (lambda: add(1, a=1), "$.a"),
        (lambda: add(1, d=1), "$.d"),
        (lambda: add(object()), "$[0]"),
        (lambda: add(1, b=object()), "$.b"),
    ]
    for refused, path in refusals:
        with pytest.raises(InvalidInput, match=f"^{re.escape(path)}: "):
            refused()


def test_options_are_for_all_calls_or_for_one(pool: Pool) -> None:
    with pytest.raises(InvalidOption, match="timout"):
        pool.proxy(timout=1).a.b.add(1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    told: list[object] = []
    count = pool.proxy(timeout=60).words.options(on_progress=told.append)
    assert list(count["stream"].stream("a b")) == ["a", "b"]
    with Pool(python=BASICS, workers=1, cancel_grace=0) as basics, pytest.raises(TimeoutError):
        basics.proxy(timeout=60).interval.options(timeout=0.05)(60)


def test_futures_and_streams_can_be_awaited(pool: Pool) -> None:
    async def run() -> tuple[int, list[str]]:
        workers = pool.proxy()
        words = workers["words.stream"].stream("a b")
        return await workers.a.b.add.submit(1, 2), [word async for word in words]

    assert asyncio.run(run()) == (3, ["a", "b"])
    assert pool.proxy().a.b.add.submit(b=1, a=1).result() == 2


def test_input_streams_come_from_the_options() -> None:
    with Pool(python=WORKERS / "streams.py", workers=1) as pool:
        assert pool.proxy().total.options(inputs=[1, 2, 3])() == 6


def test_a_node_function_gets_the_one_argument(tmp_path: Path) -> None:
    (tmp_path / "worker.mjs").write_text(NODE)
    with Pool(node=tmp_path / "worker.mjs", workers=1) as pool:
        first = pool.proxy().first
        assert first() == [None, "object"]
        assert first({"a": 1}) == [{"a": 1}, "object"]
        assert first(a=1) == [{"a": 1}, "object"]
        assert first(b"x") == [b"x", "object"]


def test_a_function_that_is_not_there_fails_as_the_pool_says(pool: Pool) -> None:
    with pytest.raises(NoSuchFunction, match=r"shapes\.nom"):
        pool.proxy().shapes.nom(1)


def test_tools_may_look_at_a_proxy(pool: Pool) -> None:
    workers = pool.proxy()
    assert repr(workers) == f"<workers of {pool!r}>"
    assert repr(workers.a.b) == f"<a.b of {pool!r}>"
    for one in (workers, workers.a, workers.a.b.add):
        assert not inspect.isawaitable(one)
        assert not hasattr(one, "__wrapped__")
        assert not hasattr(one, "_repr_html_")
        assert inspect.unwrap(one) is one
        with pytest.raises(TypeError, match="is a string"):
            list(one)
        with pytest.raises(AttributeError):
            one.name = 1
    assert repr(copy.copy(workers.a.b)) == repr(workers.a.b)
    pool.warm()
    assert {"a", "norm", "words"} <= set(dir(workers))
    assert {"b", "options", "stream", "submit"} <= set(dir(workers.a))
    with pytest.raises(TypeError):
        workers()
