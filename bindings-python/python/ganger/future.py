"""The future of a call: one of the standard library's, that can be awaited as well."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

    from . import _native

    _Waiter = tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]

T = TypeVar("T")

# As the standard library names them inside.
_CANCELLED = "CANCELLED"


class CallFuture(Future[T]):
    """What becomes of a call.

    Cancelling it works while the call runs, too: it is cancelled then and there, and its worker is asked
    to stop. Cancelling a task that awaits it does the same. Callbacks run on a thread of the library, one
    after the other.
    """

    def __init__(self, pool: _native.Pool) -> None:
        super().__init__()
        self._pool = pool
        self._call = 0
        self._waiters_in_loops: list[_Waiter] | None = None

    def cancel(self) -> bool:
        """Gives the call up, running or not. False if it has ended already."""
        if not super().cancel():
            return False
        with self._condition:
            first = self._state == _CANCELLED
            if first:
                # Tells those who wait for several futures; from here on it counts as done.
                self.set_running_or_notify_cancel()
        if first:
            self._pool.cancel(self._call)
            _wake([self])
        return True

    def running(self) -> bool:
        """Whether a worker has the call now."""
        if self.done() or self._pool.forked:
            return False
        return any(call["id"] == self._call and call["state"] == "running" for call in self._pool.calls())

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done():
            yield from self._wait_in_loop()
        if self.cancelled():
            from asyncio import CancelledError

            raise CancelledError
        return self.result()

    def _wait_in_loop(self) -> Generator[Any, None, None]:
        from asyncio import get_running_loop

        loop = get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        with self._condition:
            if self.done():
                return
            if self._waiters_in_loops is None:
                self._waiters_in_loops = []
            self._waiters_in_loops.append((loop, waiter))
        try:
            yield from waiter
        except BaseException:
            self.cancel()
            raise

    def _succeed(self, value: Any) -> None:
        """Takes the outcome of the call; one that was cancelled meanwhile stays so."""
        try:
            self.set_result(value)
        except InvalidStateError:
            pass

    def _fail(self, error: BaseException) -> None:
        from concurrent.futures import CancelledError

        if isinstance(error, CancelledError):
            self.cancel()
            return
        try:
            self.set_exception(error)
        except InvalidStateError:
            pass


class EndFuture(CallFuture[None]):
    """The end of a pool. It comes whether or not somebody waits for it."""

    def cancel(self) -> bool:
        """Not possible."""
        return False


def settle(batch: list[tuple[CallFuture[Any], Any, BaseException | None]]) -> None:
    """Hands outcomes to their futures. Called on the library's own thread, once for all that have come."""
    for future, value, error in batch:
        if error is None:
            future._succeed(value)  # pyright: ignore[reportPrivateUsage]
        else:
            future._fail(error)  # pyright: ignore[reportPrivateUsage]
    _wake([future for future, _, _ in batch])


def _wake(futures: list[CallFuture[Any]]) -> None:
    """Wakes the tasks that await them: one message for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        awaited = future._waiters_in_loops  # pyright: ignore[reportPrivateUsage]
        if awaited is not None:
            future._waiters_in_loops = None  # pyright: ignore[reportPrivateUsage]
            for loop, waiter in awaited:
                by_loop.setdefault(loop, []).append(waiter)
    for loop, waiters in by_loop.items():
        try:
            loop.call_soon_threadsafe(_release, waiters)
        except RuntimeError:
            pass  # The loop is closed; nobody waits there any more.


def _release(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
