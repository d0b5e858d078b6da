"""Calls that their function is given together (R57): who is in, and who still waits for an answer."""

from __future__ import annotations

from . import values
from .call import Call
from .protocol import Flag, Kind, Violation, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Batch:
    """``whole`` stands for all: the function's context shows it, and it is asked to stop with the last."""

    __slots__ = ("begun", "calls", "first", "last", "whole")

    def __init__(self, first: int, last: int) -> None:
        self.first: Final = first
        self.last: Final = last
        self.calls: list[Call] = []
        self.begun = False
        self.whole: Call | None = None

    def add(self, call: Call) -> None:
        call.batch = self
        self.calls.append(call)

    def completed(self) -> Call:
        first = self.calls[0]
        whole = self.whole = Call(first.seq, first.fields, 0, b"")
        whole.batch = self
        deadlines = [call.deadline for call in self.calls if call.deadline is not None]
        if len(deadlines) == len(self.calls):
            whole.deadline = max(deadlines)
        return whole

    def has_others(self) -> bool:
        """Whether somebody waits for a result that no cancel has reached."""
        return any(not (call.answered or call.cancelled) for call in self.calls)


class Gathering:
    """The calls of a batch come one after the other; the last one sets it going."""

    __slots__ = ("_batch",)

    def __init__(self) -> None:
        self._batch: Batch | None = None

    def batch_of(self, seq: int, first: int, count: int) -> Batch:
        batch = self._batch
        if batch is None and seq == first:
            batch = self._batch = Batch(first, first + count - 1)
        if batch is None or batch.first != first or seq > batch.last:
            raise Violation(f"seq {seq} is in a batch of {count} that begins with {first}")
        return batch

    def add(self, call: Call, batch: Batch) -> Call | None:
        batch.add(call)
        if call.seq < batch.last:
            return None
        self._batch = None
        return batch.completed()


def members(call: Call) -> list[Call]:
    """The calls that one stands for; itself, if it came alone."""
    return [call] if call.batch is None else call.batch.calls


def cancelled_alone(call: Call) -> bytes:
    """The answer to a call that is let go while its batch goes on."""
    message = f"cancelled ({call.reason}) in a batch that goes on"
    report = {"code": "CANCELLED", "type": "CANCELLED", "message": message, "language": "python"}
    held = Flag.HELD if call.lent is not None and call.lent.is_held_at_answer() else 0
    return frame(Kind.ERROR, call.seq, values.encode_body(report), flags=held)
