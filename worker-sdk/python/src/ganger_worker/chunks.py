"""Payloads that arrive in pieces (2.2): one growing buffer a seq, handed over as bytes without a copy."""

from __future__ import annotations

import io

from .protocol import TOO_LARGE, TOTAL, Flag, Frame, Kind, Violation


class Assemblies:
    """The chunked payloads of one direction of one lane."""

    def __init__(self, max_payload: int) -> None:
        self.max_payload = max_payload
        self._open: dict[int, _Assembly] = {}
        self._highest = 0

    @property
    def hold_calls(self) -> bool:
        """Whether some call has begun to arrive."""
        return any(assembly.first.kind == Kind.CALL for assembly in self._open.values())

    def take(self, frame: Frame) -> Frame | None:
        """The frame if it is whole, else None until its last piece has come.

        One that would be larger than allowed comes back at once, marked and without its payload.
        """
        if frame.kind == Kind.CHUNK:
            return self._add(frame)
        if frame.flags & Flag.MORE:
            return self._begin(frame)
        return frame

    def abandon(self, seq: int) -> int | None:
        """Drop what has come for ``seq``; pieces on their way are ignored. Of what kind it was, if any."""
        assembly = self._open.pop(seq, None)
        return None if assembly is None else assembly.first.kind

    def _begin(self, first: Frame) -> Frame | None:
        if first.seq in self._open:
            raise Violation(f"a second chunked payload for seq {first.seq}")
        if first.flags & TOO_LARGE:
            self._highest = max(self._highest, first.seq)
            return first
        if len(first.payload) < TOTAL.size:
            raise Violation("a frame with MORE has no total")
        self._highest = max(self._highest, first.seq)
        total = TOTAL.unpack_from(first.payload)[0]
        if total > self.max_payload:
            return Frame(first.kind, first.flags | TOO_LARGE, first.seq, first.body, b"")
        assembly = _Assembly(first, total)
        assembly.add(memoryview(first.payload)[TOTAL.size :])
        self._open[first.seq] = assembly
        return None

    def _add(self, chunk: Frame) -> Frame | None:
        assembly = self._open.get(chunk.seq)
        if assembly is None:
            if chunk.seq > self._highest:
                raise Violation(f"a chunk for seq {chunk.seq}, which never began")
            return None  # abandoned, and on its way by then
        assembly.add(chunk.payload)
        if chunk.flags & Flag.MORE:
            return None
        # A cancel from the control thread may have taken it meanwhile.
        return None if self.abandon(chunk.seq) is None else assembly.whole()


class _Assembly:
    __slots__ = ("buffer", "first", "size", "total")

    def __init__(self, first: Frame, total: int) -> None:
        self.first = first
        self.total = total
        self.size = 0
        self.buffer = io.BytesIO()

    def add(self, piece: bytes | memoryview) -> None:
        self.size += len(piece)
        if self.size > self.total:
            raise Violation(f"chunks of seq {self.first.seq} add up to more than {self.total}")
        self.buffer.write(piece)

    def whole(self) -> Frame:
        if self.size != self.total:
            raise Violation(f"chunks of seq {self.first.seq} add up to {self.size}, not {self.total}")
        first = self.first
        # BytesIO hands out its buffer itself when nobody else holds it: no copy.
        return Frame(first.kind, first.flags & ~Flag.MORE, first.seq, first.body, self.buffer.getvalue())
