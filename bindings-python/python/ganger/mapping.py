"""Many calls of one function, some at a time: an endless iterable takes no more memory than a short one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any, TypeVar

from .future import CallFuture

I = TypeVar("I")  # noqa: E741


def in_order(submit: Callable[[I], CallFuture[Any]], items: Iterable[I], window: int) -> Iterator[Any]:
    """Results in the order of the items. Leaving the loop early cancels what is under way."""
    futures: deque[CallFuture[Any]] = deque()
    source = iter(items)
    try:
        for item in source:
            futures.append(submit(item))
            if len(futures) >= window:
                yield _first(futures)
        while futures:
            yield _first(futures)
    finally:
        for future in futures:
            future.cancel()


def _first(futures: deque[CallFuture[Any]]) -> Any:
    # Taken out only when it has ended: a wait that is interrupted must not forget it.
    result = futures[0].result()
    futures.popleft()
    return result


def as_they_come(submit: Callable[[I], CallFuture[Any]], items: Iterable[I], window: int) -> Iterator[Any]:
    """Results in the order in which calls end."""
    futures: set[CallFuture[Any]] = set()
    source = iter(items)
    try:
        for item in source:
            futures.add(submit(item))
            if len(futures) >= window:
                yield from _ended(futures)
        while futures:
            yield from _ended(futures)
    finally:
        for future in futures:
            future.cancel()


def _ended(futures: set[CallFuture[Any]]) -> Iterator[Any]:
    for future in wait(futures, return_when=FIRST_COMPLETED).done:
        futures.discard(future)
        yield future.result()
