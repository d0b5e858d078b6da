"""What a worker inherits beside its lanes: shared memory, and tokens for calls that are handed over ahead."""

from __future__ import annotations

import os
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .arena import Arenas
    from .protocol import SharedMemory


class Sharing:
    """The arenas, made with the first payload that needs them."""

    def __init__(self, shared: SharedMemory, post: Callable[[bytes], None]) -> None:
        """``post`` writes a frame to data without waiting for others."""
        self._shared = shared
        self._post = post
        self._arenas: Arenas | None = None
        self._lock = allocate_lock()

    def arenas(self, size: int | None = None) -> Arenas | None:
        """None: not for a payload of this size."""
        if size is not None and size < self._shared.threshold:
            return None
        if self._arenas is None:
            from .arena import Arenas

            # Threads with the first results come at once: two that hand out the same blocks would be the end.
            with self._lock:
                if self._arenas is None:
                    self._arenas = Arenas(self._shared, self._post)
        return self._arenas

    def release(self, offsets: list[int]) -> None:
        if self._arenas is not None:
            self._arenas.release(offsets)


class Claims:
    """A call that was handed over ahead is the worker's once it has taken a token for it (R62)."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def take(self) -> bool:
        """False: the host has taken the call back."""
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            return False
        return True
