"""What a function gets for the parameter that is its input stream: an iterator over what comes."""

from __future__ import annotations

from .context import Cancelled
from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from .call import Call
    from .incoming import Incoming
    from .looping import LoopWaiter
    from .waiting import ThreadWaiter


class Items:
    """What a plain function gets for its ``Iterator`` or ``Iterable`` parameter."""

    __slots__ = ("_call", "_incoming", "_waiter")

    def __init__(self, call: Call, incoming: Incoming, waiter: ThreadWaiter) -> None:
        self._call = call
        self._incoming = incoming
        self._waiter = waiter

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        call, incoming = self._call, self._incoming
        if not incoming.has_news():
            self._waiter.wait(lambda: call.cancelled or incoming.has_news())
        if call.cancelled:
            raise Cancelled(f"cancelled ({call.reason})")
        return incoming.take(StopIteration)


class AsyncItems:
    """What a coroutine function gets for its ``AsyncIterator`` or ``AsyncIterable`` parameter."""

    __slots__ = ("_call", "_incoming", "_waiter")

    def __init__(self, call: Call, incoming: Incoming, waiter: LoopWaiter) -> None:
        self._call = call
        self._incoming = incoming
        self._waiter = waiter

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if not self._incoming.has_news():
            await self._waiter.wait(self._incoming.has_news)  # a cancel interrupts it
        if self._call.cancelled:
            await self._waiter.interrupted(self._call)
        return self._incoming.take(StopAsyncIteration)


async def one_by_one(given: Any) -> Any:
    """For a parameter of the kind whose items came all at once, as a list in the call's input."""
    for item in cast("list[Any]", given):
        yield item
