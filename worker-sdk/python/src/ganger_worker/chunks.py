"""Payloads that arrive in pieces (2.2): one growing buffer a seq, handed over as bytes without a copy."""

from __future__ import annotations

import io

from .protocol import TOTAL, Flag, Frame, Kind, Violation


class Assemblies:
    """The chunked payloads of one direction of one lane."""

    def __init__(self, max_payload: int) -> None:
        self.max_payload = max_payload
        self._open: dict[int, _Assembly] = {}

    def take(self, frame: Frame) -> Frame | None:
        """The frame if it is whole, else None until its last piece has come."""
        if frame.kind == Kind.CHUNK:
            return self._add(frame)
        if frame.flags & Flag.MORE:
            self._begin(frame)
            return None
        return frame

    def abandon(self, seq: int) -> bool:
        """Stop collecting for ``seq``; pieces still on their way are skipped. False if none was under way."""
        assembly = self._open.get(seq)
        if assembly is None or assembly.abandoned:
            return False
        assembly.abandoned = True
        assembly.buffer = io.BytesIO()
        return True

    def _begin(self, first: Frame) -> None:
        if len(first.payload) < TOTAL.size:
            raise Violation("a frame with MORE has no total")
        if first.seq in self._open:
            raise Violation(f"a second chunked payload for seq {first.seq}")
        total = TOTAL.unpack_from(first.payload)[0]
        if total > self.max_payload:
            raise Violation(f"a payload of {total} bytes exceeds max_payload {self.max_payload}")
        assembly = _Assembly(first, total)
        assembly.add(memoryview(first.payload)[TOTAL.size :])
        self._open[first.seq] = assembly

    def _add(self, chunk: Frame) -> Frame | None:
        assembly = self._open.get(chunk.seq)
        if assembly is None:
            raise Violation(f"a chunk for seq {chunk.seq}, which has none under way")
        assembly.add(chunk.payload)
        if chunk.flags & Flag.MORE:
            return None
        del self._open[chunk.seq]
        return None if assembly.abandoned else assembly.whole()


class _Assembly:
    __slots__ = ("abandoned", "buffer", "first", "size", "total")

    def __init__(self, first: Frame, total: int) -> None:
        self.first = first
        self.total = total
        self.size = 0
        self.abandoned = False
        self.buffer = io.BytesIO()

    def add(self, piece: bytes | memoryview) -> None:
        self.size += len(piece)
        if self.size > self.total:
            raise Violation(f"chunks of seq {self.first.seq} add up to more than {self.total}")
        if not self.abandoned:
            self.buffer.write(piece)

    def whole(self) -> Frame:
        if self.size != self.total:
            raise Violation(f"chunks of seq {self.first.seq} add up to {self.size}, not {self.total}")
        first = self.first
        # BytesIO hands out its buffer itself when nobody else holds it: no copy.
        return Frame(first.kind, first.flags & ~Flag.MORE, first.seq, first.body, self.buffer.getvalue())
