"""What crosses, and in which form it comes back."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import uuid
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganger import (
    InvalidInput,
    InvalidResult,
    Pool,
    _native,  # pyright: ignore[reportPrivateUsage]
)


class Color(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    KEY = "key"


@dataclasses.dataclass
class Price:
    amount: float
    currency: Color


NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 123456, dt.UTC)
PLAIN: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        127,
        128,
        -32,
        -33,
        255,
        256,
        65535,
        65536,
        2**32,
        2**63,
        2**64 - 1,
        -(2**63),
    ),
    *(0.0, -0.0, 1.5, float("inf"), 1e300, "", "a", "ä" * 40, "€" * 300, "x" * 70_000),
    *([], [1, [2, [3]]], list(range(20)), {}, {"a": {"b": [None]}}, {str(n): n for n in range(20)}),
    *(
        NOON,
        NOON.replace(microsecond=0),
        dt.datetime(1969, 12, 31, tzinfo=dt.UTC),
        dt.datetime(9999, 1, 1, tzinfo=dt.UTC),
    ),
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:30])
def test_plain_values_come_back_as_they_went(shared_pool: Pool, value: Any) -> None:
    back = shared_pool.call("echo", {"value": value})
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value", [b"", b"raw", bytearray(b"array"), memoryview(b"a view")[2:], b"x" * 300_000]
)
def test_byte_strings_come_back_as_bytes(shared_pool: Pool, value: Any) -> None:
    assert shared_pool.call("echo", value) == bytes(value)
    assert shared_pool.call("echo", {"value": [value]}) == [bytes(value)]


def test_a_view_with_gaps_is_sent_without_them(shared_pool: Pool) -> None:
    assert shared_pool.call("echo", memoryview(b"abcdef")[::2]) == b"ace"


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (frozenset({"f"}), ["f"]),
        (Color.RED, "red"),
        ({Word.KEY: Word.KEY}, {"key": "key"}),
        (Price(1.5, Color.RED), {"amount": 1.5, "currency": "red"}),
        (uuid.UUID(int=5), str(uuid.UUID(int=5))),
        (decimal.Decimal("1.10"), "1.10"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(1, 2), "01:02:00"),
        (dt.timedelta(days=1, seconds=2.5), "P1DT2.5S"),
        (dt.timedelta(seconds=-3), "-PT3S"),
        (dt.timedelta(), "P0D"),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (
            dt.datetime(2026, 1, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
            dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_other_types_have_a_plain_form(shared_pool: Pool, value: Any, form: Any) -> None:
    assert shared_pool.call("echo", {"value": value}) == form


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (object(), "$", "object of type 'object'"),
        ({"items": [0, 1, {"x": object()}]}, "$.items[2].x", "object"),
        ({"a": {1: 2}}, "$.a", "map key 1 is of type 'int'"),
        ([2**64], "$[0]", "beyond 64 bits"),
        ((0, -(2**63) - 1), "$[1]", "beyond 64 bits"),
        ("\ud800", "$", "surrogates"),
        (dt.datetime(2026, 1, 1), "$", "time zone"),
        ({"f": lambda: None}, "$.f", "function"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_cannot_cross_is_refused_with_its_path(
    shared_pool: Pool, value: Any, path: str, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=r"\$") as caught:
        shared_pool.call("echo", value)
    assert caught.value.details["path"] == path
    assert reason in caught.value.message
    assert (caught.value.function, caught.value.started, caught.value.attempts) == ("echo", "no", 0)
    with pytest.raises(InvalidInput):
        shared_pool.submit("echo", value)


def test_a_cycle_is_refused_and_the_pool_lives_on(shared_pool: Pool) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(InvalidInput, match="deep"):
        shared_pool.call("echo", cycle)
    assert shared_pool.call("add", {"a": 1}) == 2


def test_what_is_nested_200_deep_still_crosses(shared_pool: Pool) -> None:
    nested: list[Any] = []
    for _ in range(150):
        nested = [nested]
    assert shared_pool.call("echo", {"value": nested}) == nested


def test_a_result_that_cannot_cross_is_the_functions_fault(shared_pool: Pool) -> None:
    with pytest.raises(InvalidResult) as caught:
        shared_pool.call("unsendable")
    assert caught.value.details["path"] == "$.items[1]"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x92\x01",
        b"\xa5ab",
        b"\x01\x01",
        b"\x81\x01\x02",
        b"\xd4\x05\x00",
        b"\xdd\xff\xff\xff\xff",
        b"\xa1\xff",
    ],
)
def test_broken_messagepack_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidResult):
        _native.decoded(data)


def test_deep_messagepack_is_refused_before_the_stack_ends() -> None:
    with pytest.raises(InvalidResult, match="deep"):
        _native.decoded(b"\x91" * 100_000 + b"\xc0")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.datetimes(timezones=st.just(dt.UTC)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_any_value_survives_encoding_and_decoding(value: Any) -> None:
    assert _native.decoded(_native.encoded(value)) == value


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = _native.decoded(data)
    except InvalidResult:
        return
    assert _native.encoded(value)
