"""The main thread of a worker with threads: it runs what they hand to it, and asyncio once that is needed."""

from __future__ import annotations

from _queue import SimpleQueue
from _thread import allocate_lock

from .runner import Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any


class MainThread(Loop):
    """A plain queue at first. With the first coroutine comes the loop, which takes the queue over."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()
        self._lock = allocate_lock()  # so that nothing goes into a queue that nobody reads any more
        self._stopped = False

    def soon(self, callback: Callable[..., object], *arguments: Any) -> None:
        """From any thread: the main thread calls it."""
        if self._loop is None:
            with self._lock:
                if self._loop is None:
                    self._queue.put((callback, arguments))
                    return
        self._loop.call_soon_threadsafe(callback, *arguments)

    def run(self) -> None:
        """On the main thread, until ``stop``."""
        while not self._stopped:
            if self._loop is not None:
                self._loop.run_forever()
                return
            callback, arguments = self._queue.get()
            callback(*arguments)

    def stop(self) -> None:
        """From any thread."""
        self.soon(self._stop)

    def _stop(self) -> None:
        self._stopped = True
        if self._loop is not None:
            self._loop.stop()

    def _adopt(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._loop = loop
            while not self._queue.empty():
                callback, arguments = self._queue.get()
                loop.call_soon(callback, *arguments)
