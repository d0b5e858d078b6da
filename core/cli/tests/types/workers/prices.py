"""Every kind of parameter and result that Python's hints have."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NotRequired, TypedDict

from ganger_worker import action


class Place(TypedDict):
    city: str
    zip: NotRequired[str]


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Tree:
    """A node and what grows on it."""

    name: str
    children: list[Tree]
    size: Size = Size.SMALL


@action(summary='Converts a price; "exact" to a cent */ \\ at most', idempotent=True)
def convert(amount: float, currency: Literal["EUR", "USD"] = "EUR", *, place: Place | None = None) -> float:
    return amount if currency == "EUR" or place is None else amount * 2


@action(name="deep.down.prune")
def prune(tree: Tree, /, deepest: int = 3) -> Tree | None:
    return tree if deepest else None


@action
def grow(tree: Tree) -> Tree:
    return tree


@action
def mixed(
    pair: tuple[int, str],
    table: dict[str, list[int]],
    either: int | str | None,
    moment: dt.datetime,
    data: bytes,
    flag: bool = True,
    **others: Any,
) -> tuple[bytes, dt.datetime]:
    return data, moment


@action
def nothing() -> None:
    pass


@action
def anything(value, more=None):
    return [value, more]


@action
def count(to: int) -> Iterator[int]:
    yield from range(to)


@action
async def total(items: AsyncIterator[int], start: int = 0) -> int:
    async for item in items:
        start += item
    return start


@action(name="words.stream")
def stream(text: str) -> Iterator[str]:
    yield from text.split()


@action(name="class.import")
def keyword(value: int) -> int:
    return value
