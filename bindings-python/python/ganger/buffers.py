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


class Pieces(list["bytes | memoryview"]):
    """What a pickler writes to. It hands over long byte strings themselves: they are kept, not copied."""

    __slots__ = ()

    def write(self, piece: bytes | bytearray | pickle.PickleBuffer, /) -> None:
        """A part of the pickle. One that can change keeps its length as long as it is here."""
        self.append(piece if type(piece) is bytes else memoryview(piece))


class Kept(list[memoryview]):
    """The buffers that a pickler leaves out."""

    __slots__ = ()

    def __call__(self, buffer: pickle.PickleBuffer, /) -> bool:
        """Whether the buffer goes into the pickle; if not, it is kept."""
        raw = buffer.raw()
        if raw.nbytes < SEPARATE_FROM:
            return True
        self.append(raw)
        return False


def payload(pieces: Pieces, buffers: Kept, pool: _native.Pool) -> bytes | _native.Block:
    """One copy of all of it: where workers see it if it is long, else anywhere."""
    first = pieces[0]
    if not buffers and len(pieces) == 1 and type(first) is bytes:
        return first
    parts = laid_out(pieces, buffers)
    size = sum(len(part) for part in parts)
    if size < _SHARED_FROM:
        return b"".join(parts)
    block = pool.alloc(size)
    with memoryview(block) as room:
        at = 0
        for part in parts:
            room[at : at + len(part)] = part
            at += len(part)
    return block


def laid_out(pieces: list[bytes | memoryview], buffers: list[memoryview]) -> list[bytes | memoryview]:
    """All of a payload, one part after the other; nothing is copied."""
    if not buffers:
        return pieces
    at = _COUNTS.size + _EXTENT.size * (1 + len(buffers))
    length = sum(len(piece) for piece in pieces)
    extents = [_EXTENT.pack(at, length)]
    parts = [*pieces]
    at += length
    for buffer in buffers:
        gap = -at % _ALIGNMENT
        parts += (bytes(gap), buffer)
        extents.append(_EXTENT.pack(at + gap, len(buffer)))
        at += gap + len(buffer)
    return [_COUNTS.pack(0, len(buffers)), *extents, *parts]


def loads(payload: bytes | memoryview) -> Any:
    """The value. Its buffers lie where the payload does if that can be written, else each has a copy."""
    if not payload or payload[0]:
        return pickle.loads(payload)
    view = memoryview(payload)
    _mark, count = _COUNTS.unpack_from(view)
    table = view[_COUNTS.size : _COUNTS.size + _EXTENT.size * (1 + count)]
    extents = list(_EXTENT.iter_unpack(table))
    if len(extents) <= count or any(offset + length > len(view) for offset, length in extents):
        raise pickle.UnpicklingError("a buffer lies beyond the end of its pickle")
    data, *buffers = [view[offset : offset + length] for offset, length in extents]
    return pickle.loads(data, buffers=[bytearray(it) for it in buffers] if view.readonly else buffers)
