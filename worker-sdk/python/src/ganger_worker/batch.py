"""Calls that their function is given together (R57): who is in, and who still waits for an answer."""

from __future__ import annotations

from .call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Batch:
    """``whole`` stands for all: it is what the function's context shows, and is asked to stop with the last."""

    __slots__ = ("begun", "calls", "first", "whole")

    def __init__(self, first: int) -> None:
        self.first: Final = first
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


def members(call: Call) -> list[Call]:
    """The calls that one stands for; itself, if it came alone."""
    return [call] if call.batch is None else call.batch.calls
