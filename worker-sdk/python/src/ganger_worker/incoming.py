"""The items of a call's input stream, from the lane to the function that reads them."""

from __future__ import annotations

from collections import deque

from . import values
from .call import STREAM_BYTES, STREAM_ITEMS
from .context import InvalidItem
from .protocol import Flag, Kind, frame
from .values import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .call import Call
    from .effects import Input

    Write = Callable[[bytes], object]
    Read = Callable[[int, bytes | memoryview], Any]


class Incoming:
    """Filled by whoever reads the lane, emptied by the function, and credit for that goes back (R29)."""

    __slots__ = (
        "_call",
        "_entries",
        "_give_back",
        "_give_credit",
        "_read",
        "_taken_bytes",
        "_taken_items",
        "is_over",
    )

    def __init__(self, call: Call, read: Read, give_credit: Write, give_back: Write) -> None:
        self._call = call
        self._read = read
        self._give_credit = give_credit
        self._give_back = give_back
        self._entries: deque[Input] = deque()
        self.is_over = False
        self._taken_items = 0
        self._taken_bytes = 0

    def put(self, item: Input) -> None:
        self._entries.append(item)
        self._call.wake()

    def end(self) -> None:
        self.is_over = True
        self._call.wake()

    def close(self) -> None:
        """The call has ended: whoever still reads finds nothing more."""
        self.is_over = True
        self._entries.clear()

    def has_news(self) -> bool:
        return bool(self._entries) or self.is_over

    def take(self, over: type[Exception]) -> Any:
        """The next item, once there is news. ``over`` is raised after the last one."""
        try:
            entry = self._entries.popleft()
        except IndexError:
            raise over from None
        payload = entry.payload if entry.lent is None else entry.lent.read()
        if entry.lent is not None:
            body = values.encode_body([entry.lent.offset])
            self._give_back(frame(Kind.RELEASE, self._call.seq, body))
        self._credit(len(payload))
        try:
            return self._read(entry.flags & Flag.ENCODING, payload)
        except Refused as refused:
            raise InvalidItem(f"{refused.path}: {refused.reason}", refused.path) from None

    def _credit(self, size: int) -> None:
        """By halves of the window: few frames, and the host never waits for a function that reads."""
        self._taken_items += 1
        self._taken_bytes += size
        if self._taken_items >= STREAM_ITEMS // 2 or self._taken_bytes >= STREAM_BYTES // 2:
            body = values.encode_body([self._taken_items, self._taken_bytes])
            self._taken_items = self._taken_bytes = 0
            self._give_credit(frame(Kind.CREDIT, self._call.seq, body))
