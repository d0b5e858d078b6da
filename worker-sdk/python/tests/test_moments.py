"""Datetimes, dates, durations, decimals and UUIDs anywhere in a hint: converted, and told in the contract."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import msgspec
import pytest

from ganger_worker import schemas, signature
from ganger_worker.binding import Binding
from ganger_worker.protocol import Encoding

MOMENT = {"type": "string", "format": "date-time"}
ZONED = Annotated[dt.datetime, msgspec.Meta(tz=True)]
NAIVE = Annotated[dt.datetime, msgspec.Meta(tz=False)]


@dataclass
class Leaf:
    at: dt.datetime


@dataclass
class Tree:
    at: dt.datetime
    leaf: Leaf | None = None
    others: list[Tree] = field(default_factory=list["Tree"])


class Span(TypedDict):
    since: dt.datetime
    days: list[dt.date]


class Pair(NamedTuple):
    name: str
    at: dt.datetime


class Made(msgspec.Struct, tag=True):
    at: dt.datetime


class Sold(msgspec.Struct, tag=True):
    sold_at: dt.datetime = msgspec.field(name="soldAt")


class Listed(msgspec.Struct, array_like=True, tag=True):
    at: dt.datetime
    note: str = ""


class One(msgspec.Struct):
    at: dt.datetime


def found(schema: Any, path: str) -> Any:
    """What lies at a path in a schema; a reference leads on."""
    whole = schema
    for step in path.split("."):
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = schema[int(step) if isinstance(schema, list) else step]
    return schema


@pytest.mark.parametrize(
    ("hint", "paths"),
    [
        (list[dt.datetime], ["items"]),
        (set[dt.datetime], ["items"]),
        (tuple[int, dt.datetime], ["prefixItems.1"]),
        (tuple[dt.datetime, ...], ["items"]),
        (dict[str, list[dt.datetime]], ["additionalProperties.items"]),
        (Optional[dt.datetime], ["anyOf.0"]),  # noqa: UP045
        (None | dt.datetime | int, ["anyOf.0"]),
        (list[ZONED], ["items"]),
        (
            Tree,
            [
                "properties.at",
                "properties.leaf.anyOf.0.properties.at",
                "properties.others.items.properties.at",
            ],
        ),
        (list[Leaf], ["items.properties.at"]),
        (Span, ["properties.since"]),
        (Pair, ["prefixItems.1"]),
        (Listed, ["prefixItems.1"]),
        (
            Made | Sold | dt.datetime | None,
            ["anyOf.0", "anyOf.1.anyOf.0.properties.at", "anyOf.1.anyOf.1.properties.soldAt"],
        ),
        (One | dt.datetime, ["anyOf.0", "anyOf.1.properties.at"]),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_contract_says_of_every_datetime_that_it_is_one(hint: Any, paths: list[str]) -> None:
    schema = schemas.of_type(hint)
    assert [found(schema, path) for path in paths] == [MOMENT] * len(paths)


def test_nothing_else_is_said_to_be_a_datetime() -> None:
    for hint in (
        str,
        list[str],
        Annotated[str, "text"],
        dt.date,
        dt.time,
        dt.timedelta,
        uuid.UUID,
        NAIVE,
        Annotated[int, 1],
    ):
        assert schemas.of_type(hint) == msgspec.json.schema(hint)


class Every(TypedDict, total=False):
    times: list[dt.datetime]
    days: dict[str, dt.date]
    tree: Tree
    span: Span
    amount: list[decimal.Decimal] | None
    ids: tuple[uuid.UUID, ...]
    length: Optional[dt.timedelta]  # noqa: UP045
    clock: list[dt.time] | None


def every(every: Every, times: list[dt.datetime]) -> Iterator[list[dt.datetime]]:
    yield [*times, *every["times"]]


@pytest.mark.parametrize("calls_before", [0, 1])
def test_what_is_nested_is_converted_as_what_is_not(calls_before: int) -> None:
    moment = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
    text = "2026-01-02T03:00:00Z"
    given = {
        "times": [text, moment],
        "days": {"first": "2026-01-02"},
        "tree": {"at": moment, "leaf": {"at": text}, "others": [{"at": text}]},
        "span": {"since": text, "days": ["2026-01-02"]},
        "amount": ["1.20"],
        "ids": ["00000000-0000-0000-0000-000000000001"],
        "length": "P1DT2.5S",
        "clock": ["01:02:00"],
    }
    binding = Binding(signature.read(every), "every")
    payload = msgspec.msgpack.encode({"every": given, "times": [text]})
    for _ in range(calls_before):  # the first compiles what others use
        binding.arguments(Encoding.MESSAGEPACK, 0, payload)
    positional, named = binding.arguments(Encoding.MESSAGEPACK, 0, payload)
    day = dt.date(2026, 1, 2)
    assert [*positional, *named.values()] == [
        {
            "times": [moment, moment],
            "days": {"first": day},
            "tree": Tree(moment, Leaf(moment), [Tree(moment)]),
            "span": {"since": moment, "days": [day]},
            "amount": [decimal.Decimal("1.20")],
            "ids": (uuid.UUID(int=1),),
            "length": dt.timedelta(days=1, seconds=2.5),
            "clock": [dt.time(1, 2)],
        },
        [moment],
    ]


def test_parameters_and_items_are_told_alike() -> None:
    read = signature.read(every)
    schema = schemas.of_input(read)
    assert found(schema, "properties.times.items") == MOMENT
    assert found(schema, "properties.every.properties.tree.properties.leaf.anyOf.0.properties.at") == MOMENT
    days = found(schema, "properties.every.properties.days.additionalProperties")
    assert days == {"type": "string", "format": "date"}
    assert schemas.of_output(read, streams=True) == {"type": "array", "items": MOMENT}
