"""``concurrency: 1``: while its function waits, the main thread reads the data lane itself."""

from __future__ import annotations

import os
import select
from _thread import get_ident

from .waiting import WrongThread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .transport import Lane


class Pump:
    """``take`` reads one frame and follows what the session wants of it."""

    def __init__(self, data: Lane, take: Callable[[], None]) -> None:
        self._reader = data.reader
        self._take = take
        self._waits = False
        self._owner = get_ident()
        # A pipe rings where a poll hears it: credit and cancels come by another thread.
        self._ear, self._bell = os.pipe()
        os.set_blocking(self._bell, False)
        self._poller = select.poll()
        self._poller.register(data.descriptor, select.POLLIN)
        self._poller.register(self._ear, select.POLLIN)

    def wait(self, ready: Callable[[], bool]) -> None:
        if get_ident() != self._owner:
            raise WrongThread
        while not ready():
            self._waits = True
            if not ready() and self._frame_comes():
                self._take()

    def look(self) -> None:
        while self._reader.holds_frame or self._hears(0):
            self._take()

    def wake(self) -> None:
        if self._waits:
            self._waits = False
            try:
                os.write(self._bell, b"!")
            except BlockingIOError:
                pass  # full of rings that were not heard yet

    def _frame_comes(self) -> bool:
        return self._reader.holds_frame or self._hears()

    def _hears(self, limit_ms: int | None = None) -> bool:
        """Whether there is a frame. False: the bell rang, or nothing within that time."""
        come = [descriptor for descriptor, _ in self._poller.poll(limit_ms)]
        if self._ear in come:
            os.read(self._ear, 64)
        return any(descriptor != self._ear for descriptor in come)
