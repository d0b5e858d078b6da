"""Error reports: what they tell, and that nothing an exception does can make them fail."""

from __future__ import annotations

from typing import Any

import pytest

from ganger_worker import errors, values
from ganger_worker.errors import report


def caught(function: Any, *args: Any) -> BaseException:
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_chain() -> None:
    def inner() -> None:
        raise KeyError("key")

    def outer() -> None:
        try:
            inner()
        except KeyError as error:
            raise ValueError("explicit") from error

    def outermost() -> None:
        try:
            outer()
        except ValueError:
            raise RuntimeError("implicit")  # noqa: B904

    body = report(caught(outermost), "CALL_FAILED")
    chain = [body, body["cause"], body["cause"]["cause"]]  # type: ignore[index]
    assert [(link["type"], link["message"]) for link in chain] == [
        ("RuntimeError", "implicit"),
        ("ValueError", "explicit"),
        ("KeyError", "'key'"),
    ]
    assert "cause" not in chain[2]
    assert "code" not in chain[1]
    assert "direct cause" in str(body["traceback"])
    assert "direct cause" not in chain[1]["traceback"]


def test_a_suppressed_context_is_no_cause() -> None:
    def raising() -> None:
        try:
            raise KeyError("hidden")
        except KeyError:
            raise ValueError("shown") from None

    assert "cause" not in report(caught(raising), "CALL_FAILED")


def test_a_cycle_of_causes_ends() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    body = report(first, "CALL_FAILED")
    assert "cause" not in body["cause"]  # type: ignore[operator]


def test_a_long_chain_is_cut_at_16() -> None:
    error: BaseException = ValueError("0")
    for number in range(1, 40):
        following = ValueError(str(number))
        following.__cause__ = error
        error = following
    depth, link = 0, report(error, "CALL_FAILED")
    while "cause" in link:
        depth, link = depth + 1, link["cause"]  # type: ignore[assignment]
    assert depth == 16
    assert errors.error_frame(1, report(error, "CALL_FAILED"))


class Quota(Exception):
    def __init__(self, limit: int, thing: object) -> None:
        super().__init__(f"over {limit}")
        self.limit = limit
        self.thing = thing
        self.rows = [{"a": 1}]


def test_properties_and_what_was_dropped() -> None:
    body = report(Quota(5, object()), "CALL_FAILED")
    assert body["type"] == f"{__name__}.Quota"
    assert body["properties"] == {"limit": 5, "rows": [{"a": 1}]}
    assert body["dropped"] == ["thing"]


def test_properties_of_errors_of_the_system() -> None:
    body = report(caught(open, "/nothing/here"), "CALL_FAILED")
    assert body["type"] == "FileNotFoundError"
    properties: Any = body["properties"]
    assert (properties["errno"], properties["filename"]) == (2, "/nothing/here")


class Nasty(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __getattribute__(self, name: str) -> Any:
        if name in ("__dict__", "errno", "args"):
            raise RuntimeError("no attributes")
        return super().__getattribute__(name)


class NotText(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class Quits(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize("error", [Nasty(), NotText(), Quits()])
def test_an_exception_that_cannot_be_looked_at(error: Exception) -> None:
    body = report(error, "CALL_FAILED")
    assert body["message"] == "<the message cannot be shown>"
    assert values.decode(values.encode(body)) == body


def test_text_that_is_not_unicode() -> None:
    body = report(ValueError("a\ud800b"), "CALL_FAILED")
    assert body["message"] == "a\\ud800b"
    assert errors.error_frame(1, body)


def test_long_texts_are_cut() -> None:
    error = ValueError("é" * 100_000)
    error.__notes__ = ["n" * 600_000]
    body = report(error, "CALL_FAILED")
    assert len(str(body["message"]).encode()) <= 64 * 1024
    assert str(body["message"]).endswith("é … (cut)")
    assert len(str(body["traceback"]).encode()) <= 256 * 1024


def test_large_and_deep_properties_are_dropped() -> None:
    error = ValueError("x")
    deep: Any = []
    for _ in range(50):
        deep = [deep]
    error.large, error.deep, error.small = "x" * 100_000, deep, 1  # type: ignore[attr-defined]
    body = report(error, "CALL_FAILED")
    assert body["properties"] == {"small": 1}
    assert body["dropped"] == ["large", "deep"]


def test_notes_and_groups_are_in_the_traceback() -> None:
    error = ExceptionGroup("several", [ValueError("one"), KeyError("two")])
    error.add_note("while testing")
    text = str(report(error, "CALL_FAILED")["traceback"])
    assert "one" in text
    assert "two" in text
    assert "while testing" in text
