"""A pickle and the buffers that belong to it, as one payload (SPEC 2.4): arrays are copied once."""

from __future__ import annotations

import pickle
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native

# Below, a copy within the pickle costs less than a place beside it.
SEPARATE_FROM = 8 * 1024
# Payloads from here on are put together where workers see them, if there is room.
_SHARED_FROM = 128 * 1024
_ALIGNMENT = 64
_COUNTS = struct.Struct("<II")  # the mark, the number of buffers
_EXTENT = struct.Struct("<QQ")  # offset, length


class Buffers:
    """What a pickler writes to.

    It hands over long byte strings themselves: they are kept, not copied, like the buffers left out.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes | memoryview] = []
        self._buffers: list[memoryview] = []

    def write(self, piece: bytes | bytearray | pickle.PickleBuffer, /) -> None:
        """A part of the pickle. One that can change keeps its length as long as it is here."""
        self._pieces.append(piece if type(piece) is bytes else memoryview(piece))

    def keep(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether the buffer goes into the pickle; if not, it is kept."""
        raw = buffer.raw()
        if raw.nbytes < SEPARATE_FROM:
            return True
        self._buffers.append(raw)
        return False

    def payload(self, pool: _native.Pool) -> bytes | _native.Block:
        """One copy of all of it: where workers see it if it is long, else anywhere."""
        parts = self._parts() if self._buffers else self._pieces
        size = sum(len(part) for part in parts)
        if size < _SHARED_FROM:
            return parts[0] if len(parts) == 1 and type(parts[0]) is bytes else b"".join(parts)
        block = pool.alloc(size)
        with memoryview(block) as room:
            at = 0
            for part in parts:
                room[at : at + len(part)] = part
                at += len(part)
        return block

    def _parts(self) -> list[bytes | memoryview]:
        at = _COUNTS.size + _EXTENT.size * (1 + len(self._buffers))
        length = sum(len(piece) for piece in self._pieces)
        extents = [_EXTENT.pack(at, length)]
        parts = [*self._pieces]
        at += length
        for buffer in self._buffers:
            gap = -at % _ALIGNMENT
            parts += (bytes(gap), buffer)
            extents.append(_EXTENT.pack(at + gap, len(buffer)))
            at += gap + len(buffer)
        return [_COUNTS.pack(0, len(self._buffers)), *extents, *parts]


def loads(payload: bytes | memoryview) -> Any:
    """The value. Its buffers lie where the payload does if that can be written, else each has a copy."""
    view = memoryview(payload)
    if not view or view[0]:
        return pickle.loads(view)
    _mark, count = _COUNTS.unpack_from(view)
    table = view[_COUNTS.size : _COUNTS.size + _EXTENT.size * (1 + count)]
    extents = list(_EXTENT.iter_unpack(table))
    if len(extents) <= count or any(offset + length > len(view) for offset, length in extents):
        raise pickle.UnpicklingError("a buffer lies beyond the end of its pickle")
    data, *buffers = [view[offset : offset + length] for offset, length in extents]
    return pickle.loads(data, buffers=[bytearray(it) for it in buffers] if view.readonly else buffers)
