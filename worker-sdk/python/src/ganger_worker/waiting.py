"""Where a call's function waits for credit or for input until what it waits for may be there."""

from __future__ import annotations

from _queue import SimpleQueue
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Waiter(Protocol):
        def wake(self) -> None:
            """From any thread, after what is waited for has been set."""
            ...

    class ThreadWaiter(Waiter, Protocol):
        def wait(self, ready: Callable[[], bool]) -> None: ...

        def look(self) -> None:
            """Takes what the host has said meanwhile, such as which memory is free again."""
            ...


class Doorbell:
    """For a function with a thread of its own, while others read the lane."""

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()
        self._waits = False
        self._owner = get_ident()

    def wait(self, ready: Callable[[], bool]) -> None:
        if get_ident() != self._owner:
            raise WrongThread
        while not ready():
            # Whoever comes second, this or the one that wakes, sees the other.
            self._waits = True
            if not ready():
                self._rings.get()

    def look(self) -> None:
        """Others do."""

    def wake(self) -> None:
        if self._waits:
            self._waits = False
            self._rings.put(None)


class WrongThread(RuntimeError):
    def __init__(self) -> None:
        super().__init__("the streams of a call belong to the thread that runs its function")
