"""A pickle and the buffers that belong to it, as one payload (SPEC 2.4): arrays are copied once."""

from __future__ import annotations

import pickle
from _struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

# Below, a copy within the pickle costs less than a place beside it.
SEPARATE_FROM: Final = 8 * 1024
_ALIGNMENT: Final = 64
_COUNTS: Final = Struct("<II")  # the mark, the number of buffers
_EXTENT: Final = Struct("<QQ")  # offset, length


class Buffers:
    """What a pickler writes to.

    It hands over long byte strings themselves: they are kept, not copied, like the buffers left out.
    """

    __slots__ = ("_buffers", "_pieces")

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

    def payload(self) -> bytes | list[bytes | memoryview]:
        """All of it, one after the other; nothing is copied."""
        if self._buffers:
            return self._parts()
        first = self._pieces[0]
        return first if type(first) is bytes and len(self._pieces) == 1 else self._pieces

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
