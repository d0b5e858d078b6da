"""The input model: what becomes of one value, and what is refused with which path."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal, Optional, TypedDict

import msgspec
import pytest

from ganger_worker import signature, values
from ganger_worker.binding import Binding
from ganger_worker.protocol import Encoding
from ganger_worker.values import Refused


class Input(TypedDict):
    amount: float


@dataclasses.dataclass
class Order:
    amount: float
    count: int = 1


class Row(msgspec.Struct):
    a: int


class Opaque:
    pass


def convert(amount: float, currency: Literal["EUR", "USD"] = "EUR") -> Any:
    return amount, currency


def whole_dict(input: dict[str, Any]) -> Any:
    return input


def whole_mapping(input: Mapping[str, int]) -> Any:
    return input


def whole_typed(input: Input) -> Any:
    return input


def whole_order(order: Order) -> Any:
    return order


def whole_row(row: Row | None) -> Any:
    return row


def anything(x):  # type: ignore[no-untyped-def]
    return x


def nothing() -> Any:
    return "nothing"


def defaults(a: int = 1, b: Optional[int] = None) -> Any:  # noqa: UP045
    return a, b


def named(**names: Any) -> Any:
    return names


def listed(*items: Any) -> Any:
    return items


def positional(a: int, b: int = 5, /, c: int = 7) -> Any:
    return a, b, c


def keyword(*, a: int, b: str = "b") -> Any:
    return a, b


def opaque(thing: Opaque, rows: list[Row]) -> Any:
    return thing, rows


def unresolved(a: NotThere, b: int) -> Any:  # type: ignore[name-defined]  # noqa: F821
    return a, b


def times(at: dt.datetime, pair: tuple[int, str], data: bytes) -> Any:
    return at, pair, data


NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FIT = [
    (convert, {"amount": 3}, (3.0, "EUR")),
    (convert, {"currency": "USD", "amount": 3.5}, (3.5, "USD")),
    (convert, 3, (3.0, "EUR")),
    (whole_dict, {"a": 1}, {"a": 1}),
    (whole_mapping, {"a": 1}, {"a": 1}),
    (whole_typed, {"amount": 2}, {"amount": 2.0}),
    (whole_order, {"amount": 2}, Order(2.0)),
    (whole_row, {"a": 1}, Row(1)),
    (whole_row, None, None),
    (anything, {"x": {"deep": 1}}, {"deep": 1}),
    (anything, [1, 2], [1, 2]),
    (anything, None, None),
    (nothing, None, "nothing"),
    (nothing, {}, "nothing"),
    (defaults, None, (1, None)),
    (defaults, {"b": 2}, (1, 2)),
    (defaults, {}, (1, None)),
    (named, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    (named, None, {}),
    (listed, {"a": 1}, ({"a": 1},)),
    (listed, 5, (5,)),
    (positional, {"a": 1, "c": 2}, (1, 5, 2)),
    (positional, {"a": 1, "b": 2}, (1, 2, 7)),
    (keyword, {"a": 1}, (1, "b")),
    (opaque, {"thing": 1, "rows": [{"a": 1}]}, (1, [Row(1)])),
    (unresolved, {"a": "x", "b": 1}, ("x", 1)),
    (times, {"at": NOW, "pair": [1, "a"], "data": b"x"}, (NOW, (1, "a"), b"x")),
]


def call(function: Any, value: Any, shape: int = 0, encoding: int = Encoding.MESSAGEPACK) -> Any:
    payload = value if encoding == Encoding.RAW else values.encode(value)
    args, kwargs = Binding(signature.read(function), "f").arguments(encoding, shape, payload)
    return function(*args, **kwargs)


@pytest.mark.parametrize(("function", "value", "expected"), FIT)
def test_fits(function: Any, value: Any, expected: Any) -> None:
    result = call(function, value)
    assert result == expected
    if isinstance(result, tuple):
        assert [type(item) for item in result] == [type(item) for item in expected]


UNFIT = [
    (convert, {}, "$.amount", "parameter 'amount' is missing"),
    (convert, {"amount": 1, "to": 2}, "$.to", "the function has no parameter 'to'"),
    (convert, {"amount": "1"}, "$.amount", "Expected `float`, got `str`"),
    (convert, {"amount": 1, "currency": "X"}, "$.currency", "Invalid enum value 'X'"),
    (convert, "1", "$", "Expected `float`, got `str`"),
    (convert, None, "$", "Expected `float`, got `null`"),
    (whole_typed, {"amount": "x"}, "$.amount", "Expected `float`, got `str`"),
    (whole_order, {"count": 1}, "$.amount", "Object missing required field `amount`"),
    (whole_order, 3, "$", "Expected `object`, got `int`"),
    (whole_mapping, {"a": "x"}, "$[...]", "Expected `int`, got `str`"),
    (anything, {"y": 1}, "$.y", "annotate the only parameter 'x' as a dict to receive the whole map"),
    (nothing, 5, "$", "the function takes no input"),
    (nothing, {"a": 1}, "$.a", "the function has no parameter 'a'"),
    (keyword, 5, "$", "the function takes named parameters only"),
    (positional, {"b": 1}, "$.a", "parameter 'a' is missing"),
    (opaque, {"thing": 1, "rows": [{"a": 1}, {"a": "x"}]}, "$.rows[1].a", "Expected `int`, got `str`"),
]


@pytest.mark.parametrize(("function", "value", "path", "reason"), UNFIT)
def test_does_not_fit(function: Any, value: Any, path: str, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        call(function, value)
    assert caught.value.path == path
    assert reason in caught.value.reason


def test_listed_arguments() -> None:
    assert call(convert, [[3], {"currency": "USD"}], shape=1) == (3.0, "USD")
    assert call(listed, [[1, 2], {}], shape=1) == (1, 2)
    assert call(whole_dict, [[{"a": 1}], {}], shape=1) == {"a": 1}


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ([[1, "EUR", 3], {}], "$", "3 positional arguments where 2 are taken"),
        ([[1], {"amount": 2}], "$.amount", "parameter 'amount' is given twice"),
        ([[], {}], "$.amount", "parameter 'amount' is missing"),
        ([["x"], {}], "$", "Expected `float`, got `str`"),
        ([["x", "EUR"], {}], "$.amount", "Expected `float`, got `str`"),
        ({"amount": 1}, "$", "an input of shape 1 is a list of two"),
        ([{}, {}], "$[0]", "the positional arguments are not a list"),
        ([[], []], "$[1]", "the named arguments are not a map"),
    ],
)
def test_listed_arguments_that_do_not_fit(value: Any, path: str, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        call(convert, value, shape=1)
    assert caught.value.path == path
    assert reason in caught.value.reason


def test_raw_bytes_are_the_only_argument() -> None:
    assert call(anything, b"\x81", encoding=Encoding.RAW) == b"\x81"
    with pytest.raises(Refused):
        call(convert, b"x", encoding=Encoding.RAW)


def test_an_untyped_parameter_takes_no_keys_that_are_not_strings() -> None:
    arguments = Binding(signature.read(anything), "f").arguments
    with pytest.raises(Refused) as caught:
        arguments(Encoding.MESSAGEPACK, 0, bytes.fromhex("81a178810102"))
    assert caught.value.path == "$.x"


def test_a_default_that_is_not_of_its_type_stays() -> None:
    sentinel = object()

    def function(a: int = sentinel) -> Any:  # type: ignore[assignment]
        return a

    assert call(function, {}) is sentinel
    assert call(function, None) is sentinel
