"""Futures of the standard library's that can be awaited as well, and how event loops hear of them."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import Future, InvalidStateError
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Self, TypeVar

from . import _native

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

# The standard library's own.
logger = logging.getLogger("concurrent.futures")

# The bell of each loop. Only the loop holds it, by watching its descriptor: it goes with the loop.
_bells: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_native.Bell]] = (
    weakref.WeakKeyDictionary()
)


class AwaitableFuture(Future[T]):
    """A future that tasks can await, in any loop and more than once.

    Cancelling a task that awaits it cancels it.
    """

    _waiters_in_loops: list[asyncio.Future[None]]
    _done_callbacks: list[Callable[[Future[T]], object]]

    def __await__(self) -> Generator[Any, None, T]:
        try:
            if not self.done():
                yield from self._wait_in_loop()
            if self.cancelled():
                from asyncio import CancelledError

                raise CancelledError
            return self.result()
        finally:
            # Or the error, its traceback and this frame would hold each other.
            del self

    def _wait_in_loop(self) -> Generator[Any, None, None]:
        waiter = _running_loop().create_future()
        if not self._ring_for(waiter):
            with self._condition:
                if self.done():
                    return
                self._waiters_in_loops.append(waiter)
        try:
            yield from waiter
        except BaseException:
            self.cancel()
            raise

    def _invoke_callbacks(self) -> None:
        """As the standard library does, but one that exits takes no other's turn, nor other futures'."""
        interrupt: BaseException | None = None
        for callback in self._done_callbacks:
            try:
                callback(self)
            except BaseException as problem:
                # On the main thread it may be a Ctrl-C; on the library's own nobody could catch it.
                if isinstance(problem, Exception) or current_thread() is not main_thread():
                    logger.exception("exception calling callback for %r", self)
                else:
                    interrupt = problem
        if interrupt is not None:
            try:
                raise interrupt
            finally:
                del interrupt

    def _ring_for(self, _waiter: asyncio.Future[None]) -> bool:
        """Whether somebody else wakes the waiter."""
        return False

    def _succeed(self, value: Any) -> None:
        """Takes the outcome; a future that was cancelled meanwhile stays so."""
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


class PoolFuture(AwaitableFuture[T]):
    """Something about the pool as a whole: that it is ready, for one, or its end, which comes in any case."""

    def __init__(self) -> None:
        super().__init__()
        self._waiters_in_loops = []
        self._give_up: Callable[[], object] | None = None

    def given_up_by(self, give_up: Callable[[], object]) -> Self:
        """Says how it is given up. Without that it cannot be cancelled."""
        self._give_up = give_up
        return self

    def cancel(self) -> bool:
        if self._give_up is None or not super().cancel():
            return False
        self._give_up()
        return True


def _running_loop() -> asyncio.AbstractEventLoop:
    from asyncio import get_running_loop

    try:
        return get_running_loop()
    except RuntimeError as problem:
        hint = "it is awaited in loops of asyncio; elsewhere have a thread wait for its result()"
        raise RuntimeError(f"{problem}: {hint}") from None


def bell_here(loop: asyncio.AbstractEventLoop) -> _native.Bell:
    """The bell of the loop that runs on this thread."""
    known = _bells.get(loop)
    bell = None if known is None else known()
    if bell is None:
        bell = _native.Bell()
        loop.add_reader(bell.fileno(), _answer, bell)
        _bells[loop] = weakref.ref(bell)
    return bell


def settle(batch: list[tuple[AwaitableFuture[Any], Any, BaseException | None]]) -> None:
    """Hands outcomes to their futures. Called on the library's own thread, once for all that have come."""
    for future, value, error in batch:
        if error is None:
            future._succeed(value)  # pyright: ignore[reportPrivateUsage]
        else:
            future._fail(error)  # pyright: ignore[reportPrivateUsage]
    wake([future for future, _, _ in batch])


def wake(futures: list[AwaitableFuture[Any]]) -> None:
    """Wakes the tasks that await them: one message for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        waiters = future._waiters_in_loops  # pyright: ignore[reportPrivateUsage]
        if waiters:
            future._waiters_in_loops = []  # pyright: ignore[reportPrivateUsage]
            for waiter in waiters:
                by_loop.setdefault(waiter.get_loop(), []).append(waiter)
    for loop, waiters in by_loop.items():
        try:
            loop.call_soon_threadsafe(_release, waiters)
        except RuntimeError:
            pass  # The loop is closed; nobody waits there any more.


def _answer(bell: _native.Bell) -> None:
    _release(bell.take())


def _release(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
