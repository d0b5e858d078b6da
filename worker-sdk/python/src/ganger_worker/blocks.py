"""Which parts of this worker's result arena are free. Numbers only: it touches no memory.

Blocks come in classes of length, four to each doubling, so that a block that is free again serves the next
result of about its length.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

GRAIN: Final = 16 * 1024


class Blocks:
    def __init__(self, size: int) -> None:
        self._size = size // GRAIN * GRAIN
        self._taken: dict[int, int] = {}
        self._kept: dict[int, list[int]] = {}
        self._bare = [(0, self._size)] if self._size else []

    def take(self, size: int) -> int | None:
        """The offset of a block for so many bytes; None: there is no room."""
        length = class_of(size)
        kept = self._kept.get(length)
        offset = kept.pop() if kept else self._take_bare(length)
        if offset is None and self._join():
            offset = self._take_bare(length)
        if offset is not None:
            self._taken[offset] = length
        return offset

    def give(self, offset: int) -> None:
        """An offset at which no block is taken is ignored (R45)."""
        length = self._taken.pop(offset, None)
        if length is not None:
            self._kept.setdefault(length, []).append(offset)

    def _take_bare(self, length: int) -> int | None:
        for index, (offset, found) in enumerate(self._bare):
            if found >= length:
                rest = (offset + length, found - length)
                self._bare[index : index + 1] = [rest] if rest[1] else []
                return offset
        return None

    def _join(self) -> bool:
        """Makes one piece of free neighbours. False: nothing changed."""
        if not any(self._kept.values()):
            return False
        kept = [(offset, length) for length, offsets in self._kept.items() for offset in offsets]
        self._kept.clear()
        joined: list[tuple[int, int]] = []
        for offset, length in sorted(self._bare + kept):
            if joined and sum(joined[-1]) == offset:
                joined[-1] = (joined[-1][0], joined[-1][1] + length)
            else:
                joined.append((offset, length))
        self._bare = joined
        return True


def class_of(size: int) -> int:
    """The length of a block for so many bytes: a fourth of a power of two at most above them."""
    size = max(size, GRAIN)
    step = max((1 << (size - 1).bit_length()) // 8, GRAIN)
    return -(-size // step) * step
