"""Parts of the input arena as memory of the worker's own: mapped by themselves, pages copied when written.

A page that nobody has written is still the host's: it stays what it is only as long as the block is lent.
"""

from __future__ import annotations

from mmap import ACCESS_COPY, PAGESIZE, mmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

_MADV_POPULATE_WRITE: Final = 23  # of Linux 5.14; the module does not name it


def mapped(descriptor: int, offset: int, length: int) -> mmap | None:
    """None: it cannot be done."""
    try:
        return mmap(descriptor, length, access=ACCESS_COPY, offset=offset)
    except (OSError, ValueError):
        return None


def make_own(memories: Iterable[object]) -> None:
    """Copies every page now: a forked child may look at them when the host has the block back."""
    for memory in memories:
        if isinstance(memory, mmap):
            try:
                memory.madvise(_MADV_POPULATE_WRITE)
            except (OSError, ValueError):
                view = memoryview(memory)
                view[::PAGESIZE] = bytes(view[::PAGESIZE])
