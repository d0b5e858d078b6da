"""The items of a call's input stream, from the lane to the function that reads them."""

from __future__ import annotations

from collections import deque

from . import values
from .call import STREAM_BYTES, STREAM_ITEMS
from .context import Cancelled, InvalidItem
from .protocol import TOO_LARGE, Flag, Kind, frame
from .typed import cast
from .values import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from .call import Call
    from .effects import Input
    from .looping import LoopWaiter
    from .waiting import ThreadWaiter

    Read = Callable[[int, bytes | memoryview], Any]


class Incoming:
    """Filled by whoever reads the lane, emptied by the function, and credit for that goes back (R29)."""

    __slots__ = ("_call", "_entries", "_over", "_read", "_send", "_taken_bytes", "_taken_items")

    def __init__(self, call: Call, read: Read, send: Callable[[bytes], None]) -> None:
        self._call = call
        self._read = read
        self._send = send
        self._entries: deque[Input] = deque()
        self._over = False
        self._taken_items = 0
        self._taken_bytes = 0

    def put(self, item: Input) -> None:
        self._entries.append(item)
        self._call.wake()

    def end(self) -> None:
        self._over = True
        self._call.wake()

    def close(self) -> None:
        """The call has ended: whoever still reads finds nothing more."""
        self._over = True
        self._entries.clear()

    def has_news(self) -> bool:
        return bool(self._entries) or self._over

    def is_given_up(self) -> bool:
        return self._call.cancelled

    def take(self, over: type[Exception]) -> Any:
        """The next item, once there is news. ``over`` is raised after the last one."""
        try:
            entry = self._entries.popleft()
        except IndexError:
            raise over from None
        if entry.flags & TOO_LARGE:
            raise InvalidItem("an item has more bytes than the pool allows", code="PAYLOAD_TOO_LARGE")
        payload = entry.payload if entry.lent is None else entry.lent.read()
        self._credit(len(payload))
        try:
            return self._read(entry.flags & Flag.ENCODING, payload)
        except Refused as refused:
            raise InvalidItem(f"{refused.path}: {refused.reason}", refused.path) from None

    def raise_given_up(self) -> None:
        raise Cancelled(f"cancelled ({self._call.reason})")

    def _credit(self, size: int) -> None:
        """By halves of the window: few frames, and the host never waits for a function that reads."""
        self._taken_items += 1
        self._taken_bytes += size
        if self._taken_items >= STREAM_ITEMS // 2 or self._taken_bytes >= STREAM_BYTES // 2:
            body = values.encode_body([self._taken_items, self._taken_bytes])
            self._taken_items = self._taken_bytes = 0
            self._send(frame(Kind.CREDIT, self._call.seq, body))


class Items:
    """What a plain function gets for its ``Iterator`` or ``Iterable`` parameter."""

    __slots__ = ("_incoming", "_waiter")

    def __init__(self, incoming: Incoming, waiter: ThreadWaiter) -> None:
        self._incoming = incoming
        self._waiter = waiter

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        incoming = self._incoming
        if not incoming.has_news():
            self._waiter.wait(lambda: incoming.has_news() or incoming.is_given_up())
        if incoming.is_given_up():
            incoming.raise_given_up()
        return incoming.take(StopIteration)


class AsyncItems:
    """What a coroutine function gets for its ``AsyncIterator`` or ``AsyncIterable`` parameter."""

    __slots__ = ("_incoming", "_waiter")

    def __init__(self, incoming: Incoming, waiter: LoopWaiter) -> None:
        self._incoming = incoming
        self._waiter = waiter

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if not self._incoming.has_news():
            await self._waiter.wait(self._incoming.has_news)  # a cancel interrupts it
        return self._incoming.take(StopAsyncIteration)


async def one_by_one(given: Any) -> Any:
    """For a parameter of the kind whose items came all at once, as a list in the call's input."""
    for item in cast("list[Any]", given):
        yield item
