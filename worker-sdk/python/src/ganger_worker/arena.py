"""Shared memory as a worker sees it (SPEC 2.3): inputs are read where they lie, results left for the host.

Reading and writing through the descriptors costs one copy and no further module. Only for a function that
wants a memoryview the input arena is mapped, for good, and what it gets is no copy at all. A pickle is mapped
by itself, copy on write: the arrays in it are the function's to change, and its changes nobody else's to see.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from _weakref import ref

from .blocks import Blocks
from .protocol import REFERENCE, Kind, Violation, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .protocol import SharedMemory

    Payload = bytes | bytearray | memoryview | list[bytes | memoryview]

_INPUT, _RESULT = 0, 1
_MOST_AT_ONCE: Final = 1 << 30  # what one system call is asked for
_MOST_PARTS: Final = 1000  # the system's limit is 1024
_LONG: Final = 32 << 20  # bytes from which on the allocator asks the system for memory each time
_MOST_PRIVATE: Final = 64  # blocks that are mapped by themselves at once: each takes a descriptor
_PROT_READ, _MAP_SHARED = 1, 1


class Lent:
    """A call's input in shared memory. ``held``: something looked at it when the call was answered (R44)."""

    __slots__ = ("__weakref__", "_arenas", "_gone", "_held", "_seq", "length", "memory", "offset")

    def __init__(self, arenas: Arenas, seq: int, offset: int, length: int) -> None:
        self.offset = offset
        self.length = length
        self._arenas = arenas
        self._seq = seq
        self._gone = True
        self._held = False
        self.memory: Callable[[], object] = _nothing

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        """A copy."""
        return self._arenas.read(self.offset, self.length)

    def view(self) -> memoryview:
        """No copy. It may outlive the call, and keeps the host from using the memory for anything else."""
        array = self._arenas.array_at(self.offset, self.length)
        if array is None:
            return memoryview(self.read())
        array.lent = self
        self._watch(array)
        return memoryview(array).cast("B").toreadonly()

    def private(self) -> memoryview:
        """As `view`, to be written as well: whoever writes gets pages of its own, which nobody else sees."""
        mapped = self._arenas.mapped_privately(self.offset, self.length)
        if mapped is None:
            return memoryview(bytearray(self.read()))
        self._watch(mapped)
        return memoryview(mapped)

    def is_whole(self, data: memoryview) -> bool:
        """Whether that is what `view` gave, all of it."""
        return getattr(data.obj, "lent", None) is self and data.nbytes == self.length and data.c_contiguous

    def reference(self) -> bytes:
        return REFERENCE.pack(_INPUT, self.offset, self.length)

    def is_held_at_answer(self) -> bool:
        # Whoever comes second, this or the end of the last view, sees the other: a release may be told twice,
        # but never not at all.
        self._held = True
        return not self._gone

    def _watch(self, memory: Any) -> None:
        self._gone = False
        # Known to the arenas: if only what looks at the memory knew it, a cycle around that would take the
        # reference along, and nobody would be told.
        self._arenas.looked_at.add(self)
        self.memory = ref(memory, self._no_view_is_left)

    def _no_view_is_left(self, _ref: object) -> None:
        self._arenas.looked_at.discard(self)
        self._gone = True
        if self._held:
            self._arenas.give_back(self._seq)


def _nothing() -> None:
    """Nobody has looked at it yet."""


class Arenas:
    def __init__(self, settings: SharedMemory, post: Callable[[bytes], None]) -> None:
        self.looked_at: set[Lent] = set()
        self._settings = settings
        self._post = post
        self._lock = allocate_lock()
        self._blocks = Blocks(settings.result_size)
        self._base: int | None = None
        self._c: Any = None
        self._private: Any = None

    # --- inputs

    def lent(self, seq: int, payload: bytes) -> Lent:
        if len(payload) != REFERENCE.size:
            raise Violation("a malformed reference to shared memory")
        arena, offset, length = REFERENCE.unpack(payload)
        if arena != _INPUT or offset + length > self._settings.input_size:
            raise Violation("a reference to memory that is not the host's to refer to")
        return Lent(self, seq, offset, length)

    def read(self, offset: int, length: int) -> bytes:
        if length >= _LONG:
            data = self._read_long(offset, length)
            if data is not None:
                return data
        data = os.pread(self._settings.input_fd, min(length, _MOST_AT_ONCE), offset)
        if len(data) == length:
            return data
        pieces = [data]
        while length > len(data):
            offset, length = offset + len(data), length - len(data)
            data = os.pread(self._settings.input_fd, min(length, _MOST_AT_ONCE), offset)
            if not data:
                raise Violation("the input arena is shorter than it was said to be")
            pieces.append(data)
        return b"".join(pieces)

    def _read_long(self, offset: int, length: int) -> bytes | None:
        try:
            from . import huge_pages
        except ImportError:  # a Python without ctypes
            return None
        return huge_pages.read(self._settings.input_fd, offset, length)

    def array_at(self, offset: int, length: int) -> Any:
        """A ctypes array over mapped memory; None: this Python cannot."""
        if self._base is None:
            with self._lock:
                if self._base is None:
                    self._base = self._map()
        if not self._base:
            return None
        return (self._c.c_ubyte * length).from_address(self._base + offset)

    def mapped_privately(self, offset: int, length: int) -> Any:
        """A part of the arena, copied page by page as it is written to; None: it cannot be done."""
        if len(self.looked_at) >= _MOST_PRIVATE or not length:
            return None
        with self._lock:
            if self._private is None:
                try:
                    from . import private
                except ImportError:  # a Python without mmap
                    return None
                os.register_at_fork(before=self._make_own)
                self._private = private
        return self._private.mapped(self._settings.input_fd, offset, length)

    def _make_own(self) -> None:
        self._private.make_own(lent.memory() for lent in list(self.looked_at))

    def give_back(self, seq: int) -> None:
        self._post(frame(Kind.RELEASE, seq))

    # --- results

    def write(self, data: Payload, size: int) -> bytes | None:
        """Copies a result for the host and refers to it. None: there is no room, or no memory."""
        with self._lock:
            offset = self._blocks.take(size)
        if offset is None:
            return None
        try:
            self._fill(offset, [*data] if isinstance(data, list) else [memoryview(data).cast("B")])
        except OSError:
            self.release([offset])
            return None
        return REFERENCE.pack(_RESULT, offset, size)

    def release(self, offsets: list[int]) -> None:
        with self._lock:
            for offset in offsets:
                self._blocks.give(offset)

    def _fill(self, offset: int, parts: list[bytes | memoryview]) -> None:
        first = 0
        while first < len(parts):
            done = os.pwritev(self._settings.result_fd, parts[first : first + _MOST_PARTS], offset)
            offset += done
            while first < len(parts) and done >= len(parts[first]):
                done -= len(parts[first])
                first += 1
            if done:
                parts[first] = memoryview(parts[first])[done:]

    def _map(self) -> int:
        """By hand: of a read-only mmap object ctypes takes no part. 0: it cannot be done."""
        try:
            import ctypes
        except ImportError:
            return 0
        self._c = ctypes
        mmap = ctypes.CDLL(None, use_errno=True).mmap
        mmap.restype = ctypes.c_void_p
        mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        size, descriptor = self._settings.input_size, self._settings.input_fd
        base: int | None = mmap(None, size, _PROT_READ, _MAP_SHARED, descriptor, 0)
        return 0 if base is None or base == ctypes.c_void_p(-1).value else base
