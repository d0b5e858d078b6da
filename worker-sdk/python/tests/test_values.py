"""Both codecs against the golden values, and what each refuses with which path."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import threading
import uuid
from typing import Any

import msgspec
import pytest

import notation
from ganger_worker import messagepack, msgspec_codec, values
from ganger_worker.values import Refused

CODECS = [pytest.param(messagepack, id="pure"), pytest.param(msgspec_codec, id="msgspec")]
GOLDEN = notation.load("vectors/values.json")["values"]
MALFORMED = notation.load("vectors/malformed.json")["values"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("vector", GOLDEN, ids=lambda vector: vector["name"])
def test_golden(codec: Any, vector: dict[str, Any]) -> None:
    data, value = bytes.fromhex(vector["hex"]), notation.value(vector["value"])
    assert notation.same(codec.decode(data), value)
    lossless = "nanoseconds" not in vector["name"] and "96 bits" not in vector["name"]
    if vector["shortest"] and lossless:  # a datetime has no nanoseconds
        assert codec.encode(value) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("vector", MALFORMED, ids=lambda vector: vector["name"])
def test_malformed(codec: Any, vector: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        codec.decode(bytes.fromhex(vector["hex"]))


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Text(str):
    pass


@dataclasses.dataclass
class Price:
    amount: float
    tags: tuple[str, ...]


class Row(msgspec.Struct):
    a: int


Point = collections.namedtuple("Point", "x y")
DURATIONS = [
    *(
        dt.timedelta(),
        dt.timedelta(days=3),
        dt.timedelta(seconds=90),
        dt.timedelta(days=1, microseconds=2_500_000),
    ),
    *(dt.timedelta(microseconds=1), dt.timedelta(seconds=-3), dt.timedelta(days=-1, microseconds=7)),
]
PLAIN = [
    ((1, 2), [1, 2]),
    (Price(1.5, ("a",)), {"amount": 1.5, "tags": ["a"]}),
    ([Color.RED, Level.HIGH, Word.YES], ["red", 3, "yes"]),
    ({Word.YES: 1, Text("t"): Text("u")}, {"yes": 1, "t": "u"}),
    (Row(3), {"a": 3}),
    (Point(1, 2), [1, 2]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.deque([1]), None),
    ([bytearray(b"x"), memoryview(b"y")], [b"x", b"y"]),
    (frozenset({4}), [4]),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (decimal.Decimal("1.20"), "1.20"),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (dt.time(1, 2), "01:02:00"),
    *((length, msgspec.to_builtins(length)) for length in DURATIONS),
]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("given", "plain"), PLAIN, ids=[type(given).__name__ for given, _ in PLAIN])
def test_python_values_have_a_plain_form(codec: Any, given: Any, plain: Any) -> None:
    if plain is None:
        with pytest.raises(Refused):
            codec.encode(given)
    else:
        assert notation.same(codec.decode(codec.encode(given)), plain)


def test_times_with_a_zone_keep_their_moment() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=zone)
    assert values.encode(moment) == messagepack.encode(moment)
    assert values.decode(values.encode(moment)) == moment


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
REFUSED = [
    ({"items": [1, 2, 3, threading.Lock()]}, "$.items[3]", "object of type '_thread.lock'"),
    ({"a": {1: 2}}, "$.a", "map key 1 is of type 'int', not a string"),
    ([2**64], "$[0]", "integer beyond 64 bits"),
    ([-(2**63) - 1], "$[0]", "integer beyond 64 bits"),
    ({"t": dt.datetime(2026, 1, 1)}, "$.t", "a datetime without a time zone"),
    ("\ud800", "$", "a string with lone surrogates is not Unicode text"),
    (Price(1.0, (object(),)), "$.tags[0]", "object of type 'object'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("value", "path", "reason"), REFUSED, ids=[path for _, path, _ in REFUSED])
def test_refused_with_path_and_type(codec: Any, value: Any, path: str, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        codec.encode(value)
    assert (caught.value.path, caught.value.reason) == (path, reason)


@pytest.mark.parametrize("codec", CODECS)
def test_a_cycle_is_refused(codec: Any) -> None:
    with pytest.raises(Refused):
        codec.encode(CYCLE)


@pytest.mark.parametrize("codec", CODECS)
def test_deep_values_are_the_same_for_both(codec: Any) -> None:
    value: Any = []
    for _ in range(150):
        value = [value]
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", ["93c0c08101c0", "92c082a16101c402aabb01"], ids=["integer key", "bytes key"])
def test_decoding_names_the_path_of_a_key(codec: Any, data: str) -> None:
    with pytest.raises(Refused) as caught:
        codec.decode(bytes.fromhex(data))
    assert caught.value.path in ("$[2]", "$[1]")
