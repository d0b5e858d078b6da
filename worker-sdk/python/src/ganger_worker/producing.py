"""A function that yields: its items go out as they come, while the host has room for them."""

from __future__ import annotations

from .context import Cancelled
from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from .binding import Arguments
    from .call import Call
    from .execution import Execution
    from .function import Function
    from .looping import LoopWaiter
    from .waiting import ThreadWaiter

# So many items at most are produced before other coroutines have their turn.
_TURN: Final = 32
# From so many bytes on an item may lie in shared memory, which the host gives back.
_LARGE: Final = 64 * 1024


class Outgoing:
    """What may still be sent of a stream: an item goes while both are positive (R29)."""

    __slots__ = ("_call", "_sent_bytes", "_sent_items")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._sent_items = 0
        self._sent_bytes = 0

    def is_open(self) -> bool:
        call = self._call
        return call.granted_items > self._sent_items and call.granted_bytes > self._sent_bytes

    def is_open_or_given_up(self) -> bool:
        return self._call.cancelled or self.is_open()

    def sent(self, size: int) -> None:
        self._sent_items += 1
        self._sent_bytes += size


def produce(
    execution: Execution, call: Call, function: Function, arguments: Arguments, waiter: ThreadWaiter
) -> object:
    """On the calling thread. The generator goes on once there is credit for its next item, never before.

    However this ends, the generator is closed and its ``finally`` has run before the call is answered.
    What it returns is the call's result.
    """
    outgoing = Outgoing(call)
    items = function.target(*arguments[0], **arguments[1])
    arguments = ((), {})
    try:
        return _send_all(execution, call, iter(items), outgoing, waiter)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()


def _send_all(
    execution: Execution, call: Call, items: Any, outgoing: Outgoing, waiter: ThreadWaiter
) -> object:
    while True:
        if not outgoing.is_open():
            waiter.wait(outgoing.is_open_or_given_up)
        if call.cancelled:
            raise _given_up(call)
        try:
            item = next(items)
        except StopIteration as end:
            return cast("object", end.value)
        if call.cancelled:
            raise _given_up(call)
        size = execution.send_item(call, item)
        outgoing.sent(size)
        del item  # it may look at the input
        if size > _LARGE:
            waiter.look()


async def produce_async(
    execution: Execution, call: Call, function: Function, arguments: Arguments, waiter: LoopWaiter
) -> None:
    """As ``produce``. A cancel interrupts the generator where it waits, or us: then it is closed."""
    outgoing = Outgoing(call)
    items = function.target(*arguments[0], **arguments[1])
    arguments = ((), {})
    try:
        await _send_all_async(execution, call, aiter(items), outgoing, waiter)
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


async def _send_all_async(
    execution: Execution, call: Call, items: Any, outgoing: Outgoing, waiter: LoopWaiter
) -> None:
    import asyncio

    since_turn = 0
    while True:
        if not outgoing.is_open():
            await waiter.wait(outgoing.is_open)
            since_turn = 0
        try:
            item = await anext(items)
        except StopAsyncIteration:
            return
        if call.cancelled:
            await waiter.interrupted(call)
        outgoing.sent(execution.send_item(call, item))
        del item
        since_turn += 1
        if since_turn == _TURN:
            since_turn = 0
            await asyncio.sleep(0)


def _given_up(call: Call) -> Cancelled:
    return Cancelled(f"cancelled ({call.reason})")
