"""Functions that yield, and functions that read, for the tests."""

import asyncio
import os
import pathlib
import signal
import time
from collections.abc import AsyncIterator, Iterator

from ganger_worker import action, context

produced = 0


def note(path: str, *what) -> None:
    with open(path, "a") as file:
        print(*what, file=file)


@action
def count(n: int, path: str = os.devnull) -> Iterator[int]:
    """Notes how many it made, and whether it was cancelled."""
    made = 0
    try:
        for number in range(n):
            made += 1
            yield number
    finally:
        note(path, made, context.cancelled)


@action
async def count_async(n: int, path: str = os.devnull) -> AsyncIterator[int]:
    made = 0
    try:
        for number in range(n):
            made += 1
            yield number
    finally:
        note(path, made, context.cancelled)


@action
def blocks(n: int, size: int) -> Iterator[bytes]:
    """Counts in `made_blocks` what it has made."""
    global produced
    produced = 0
    for number in range(n):
        produced += 1
        yield bytes([number % 256]) * size


@action
def made_blocks() -> int:
    return produced


@action
def returns(n: int):
    yield from range(n)
    return {"all": n}


@action
def fails(n: int):
    yield from range(n)
    raise ValueError("out of tokens")


@action
def dies(n: int):
    yield from range(n)
    os.kill(os.getpid(), signal.SIGKILL)


@action
async def never(n: int, path: str = os.devnull) -> AsyncIterator[int]:
    """Comes to no end after its items."""
    try:
        for number in range(n):
            yield number
        await asyncio.sleep(1000)
    finally:
        note(path, "left", context.cancelled)


@action
def odd():
    yield 1
    yield object()


@action
def pid() -> int:
    return os.getpid()


@action
def add(a: int, b: int = 1) -> int:
    return a + b


@action
def total(items: Iterator[int]) -> int:
    return sum(items)


@action
async def total_async(items: AsyncIterator[int], start: int = 0) -> int:
    async for item in items:
        start += item
    return start


@action
def total_after(gate: str, items: Iterator[int]) -> int:
    while not pathlib.Path(gate).exists():
        time.sleep(0.01)
    return sum(items)


@action
def first(items: Iterator[int], n: int) -> list[int]:
    return [next(items) for _ in range(n)]


@action
def lengths(items: Iterator[str]) -> list[int]:
    return [len(item) for item in items]


@action
def watch(path: str, items: Iterator[int]) -> int:
    """Notes that it has an item, and what ends it."""
    try:
        so_far = next(items)
        note(path, "begun")
        return so_far + sum(items)
    except BaseException as error:
        note(path, type(error).__name__)
        raise


@action
def doubles(items: Iterator[int]) -> Iterator[int]:
    for item in items:
        yield 2 * item


@action
async def doubles_async(items: AsyncIterator[int]) -> AsyncIterator[int]:
    async for item in items:
        yield 2 * item


@action
def echoes(items: Iterator[bytes]) -> Iterator[bytes]:
    yield from items


@action
def steps(n: int, fail: bool = False) -> str:
    for step in range(1, n + 1):
        context.progress(step, n, f"step {step}")
    if fail:
        raise ValueError("no good")
    return "done"


@action
def steps_between(n: int) -> Iterator[int]:
    for step in range(1, n + 1):
        context.progress(step, n)
        yield step
