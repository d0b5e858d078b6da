"""Pickle between a Python host and the worker: values, ``ganger.run``, exceptions."""

from __future__ import annotations

import operator
import pickle
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from ganger_worker.protocol import Encoding, Kind
from host import Got, Host, write

CODE = """
    from ganger_worker import action
    @action
    def kind(x):
        return [type(x).__name__, x]
    class Passed(Exception):
        def __init__(self, a, b):
            super().__init__(a)
            self.a, self.b = a, b
    class Kept(Exception):
        pass
    @action
    def hard():
        raise Passed(1, 2)
    @action
    def easy():
        raise Kept("x", 3)
    @action
    def local():
        return lambda: 7
    @action
    def sum_of(a: int, b: int):
        return a + b
    """


@pytest.fixture(params=[1, 3], ids=["one at a time", "three"])
def host(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))
    with Host.start(write(tmp_path, "pickled.py", CODE), concurrency=request.param) as started:
        started.ready()
        yield started


def call(host: Host, name: str, value: Any, shape: int = 0, dumps: Any = pickle.dumps) -> Got:
    return host.answer(host.send_call(name, dumps(value, 5), Encoding.PICKLE, shape=shape))


def run(host: Host, function: Any, *args: Any, **kwargs: Any) -> Got:
    return call(host, "ganger.run", (function, args, kwargs), dumps=cloudpickle.dumps)


def test_values_keep_their_python_types(host: Host) -> None:
    got = call(host, "kind", (1, {2: 3}))
    assert got.flags & 0x30 == Encoding.PICKLE
    assert got.value == ["tuple", (1, {2: 3})]


def test_arguments_of_shape_1(host: Host) -> None:
    assert call(host, "sum_of", ((1,), {"b": 2}), shape=1).value == 3
    assert call(host, "sum_of", {"a": 1, "b": 2}).value == 3
    assert call(host, "sum_of", {"a": 1}).body["path"] == "$.b"


def test_run(host: Host) -> None:
    assert run(host, operator.add, 1, 2).value == 3
    assert run(host, lambda x, *, y: x * y, 3, y=4).value == 12
    assert call(host, "ganger.run", ((operator.add, (1, 2), {}), {}), shape=1).value == 3
    assert run(host, dict, a=1).value == {"a": 1}


def test_run_is_not_in_the_contract(tmp_path: Path) -> None:
    with Host.start(write(tmp_path, "empty.py", "")) as host:
        assert host.ready() == []
        assert run(host, abs, -1).value == 1


def test_an_exception_comes_back_itself(host: Host) -> None:
    got = run(host, operator.truediv, 1, 0)
    assert (got.kind, got.body["code"], got.body["type"]) == (Kind.ERROR, "CALL_FAILED", "ZeroDivisionError")
    assert isinstance(got.value, ZeroDivisionError)
    assert type(call(host, "easy", None).value).__name__ == "Kept"


def test_an_exception_that_cannot_be_read_again_comes_as_a_report_alone(host: Host) -> None:
    got = call(host, "hard", None)
    assert got.payload == b""
    assert got.body["properties"] == {"args": [1], "a": 1, "b": 2}


def test_what_cannot_be_unpickled_is_an_invalid_input(host: Host) -> None:
    body = host.answer(host.send_call("kind", b"cnothing_here\nf\n.", Encoding.PICKLE)).body
    assert (body["code"], body["type"]) == ("INVALID_INPUT", "ModuleNotFoundError")


def test_results_by_value_where_names_do_not_do(host: Host) -> None:
    assert call(host, "local", None).value() == 7


def test_what_cannot_be_pickled_is_an_invalid_result(host: Host) -> None:
    import threading

    body = run(host, threading.Lock).body
    assert (body["code"], body["type"]) == ("INVALID_RESULT", "TypeError")


def test_the_same_function_without_pickle_answers_without(host: Host) -> None:
    assert host.result("kind", {"x": [1]}) == ["list", [1]]
    assert host.error("easy")["code"] == "CALL_FAILED"
