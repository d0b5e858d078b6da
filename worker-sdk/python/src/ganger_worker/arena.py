"""Shared memory as a worker sees it (SPEC 2.3): inputs are read where they lie, results left for the host.

Reading and writing through the descriptors costs one copy and no further module. Only for a function that
wants a memoryview the input arena is mapped, for good, and what it gets is no copy at all.
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

    Payload = bytes | bytearray | memoryview

_INPUT, _RESULT = 0, 1
_MOST_AT_ONCE: Final = 1 << 30  # what one system call is asked for
_PROT_READ, _MAP_SHARED = 1, 1


class Lent:
    """A call's input in shared memory. ``held``: something looked at it when the call was answered (R44)."""

    __slots__ = ("__weakref__", "_arenas", "_gone", "_held", "_ref", "_seq", "length", "offset")

    def __init__(self, arenas: Arenas, seq: int, offset: int, length: int) -> None:
        self.offset = offset
        self.length = length
        self._arenas = arenas
        self._seq = seq
        self._gone = True
        self._held = False
        self._ref: object = None

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
        self._gone = False
        self._ref = ref(array, self._no_view_is_left)
        return memoryview(array).cast("B").toreadonly()

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

    def _no_view_is_left(self, _ref: object) -> None:
        self._gone = True
        if self._held:
            self._arenas.give_back(self._seq)


class Arenas:
    def __init__(self, settings: SharedMemory, post: Callable[[bytes], None]) -> None:
        self._settings = settings
        self._post = post
        self._lock = allocate_lock()
        self._blocks = Blocks(settings.result_size)
        self._base: int | None = None
        self._c: Any = None

    # --- inputs

    def lent(self, seq: int, payload: bytes) -> Lent:
        if len(payload) != REFERENCE.size:
            raise Violation("a malformed reference to shared memory")
        arena, offset, length = REFERENCE.unpack(payload)
        if arena != _INPUT or offset + length > self._settings.input_size:
            raise Violation("a reference to memory that is not the host's to refer to")
        return Lent(self, seq, offset, length)

    def read(self, offset: int, length: int) -> bytes:
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

    def array_at(self, offset: int, length: int) -> Any:
        """A ctypes array over mapped memory; None: this Python cannot."""
        if self._base is None:
            with self._lock:
                if self._base is None:
                    self._base = self._map()
        if not self._base:
            return None
        return (self._c.c_ubyte * length).from_address(self._base + offset)

    def give_back(self, seq: int) -> None:
        self._post(frame(Kind.RELEASE, seq))

    # --- results

    def write(self, data: Payload) -> bytes | None:
        """Copies a result for the host and refers to it. None: there is no room, or no memory."""
        view = memoryview(data).cast("B")
        size = view.nbytes
        with self._lock:
            offset = self._blocks.take(size)
        if offset is None:
            return None
        done = 0
        try:
            while done < size:
                done += os.pwrite(self._settings.result_fd, view[done : done + _MOST_AT_ONCE], offset + done)
        except OSError:
            self.release([offset])
            return None
        return REFERENCE.pack(_RESULT, offset, size)

    def release(self, offsets: list[int]) -> None:
        with self._lock:
            for offset in offsets:
                self._blocks.give(offset)

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
