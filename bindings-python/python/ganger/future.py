"""The future of a call.

It begins as little more than the call's number: `result`, `exception` and `await` need no more. What else the
standard library's futures have, and whoever looks inside one, as `concurrent.futures.wait` does, turns it
into one of those first; from then on a thread of the library completes it.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from .awaiting import AwaitableFuture, bell_here, wake

if TYPE_CHECKING:
    import asyncio

    from . import _native

T = TypeVar("T")

# As the standard library names them inside.
_CANCELLED: Final = "CANCELLED"
_CANCELLED_AND_NOTIFIED: Final = "CANCELLED_AND_NOTIFIED"
_FINISHED: Final = "FINISHED"
_STANDARD: Final = frozenset({"_waiters_in_loops", *vars(Future[Any]())})


class CallFuture(AwaitableFuture[T]):
    """What becomes of a call.

    Cancelling it works while the call runs, too: it is cancelled then and there, and its worker is asked
    to stop. Cancelling a task that awaits it does the same. Callbacks run on a thread of the library, one
    after the other; one that is added when the call has ended runs at once.
    """

    def __init__(self, call: _native.Call) -> None:
        # Not the standard library's own: see __getattr__.
        self._call = call

    def result(self, timeout: float | None = None) -> T:
        """Waits for the call, and returns what it returned or raises why it has no result."""
        try:
            timeout = self._wait(timeout)
            if self._is_finished() and self._exception is None:
                return cast("T", self._result)
            return super().result(timeout)
        finally:
            # Or the error, its traceback and this frame would hold each other.
            del self

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the call, and returns why it has no result, or None."""
        return super().exception(self._wait(timeout))

    def cancel(self) -> bool:
        """Gives the call up, running or not. False if it has ended already."""
        cancelled = True
        try:
            cancelled = super().cancel()
        finally:  # A callback that is interrupted leaves it cancelled, and its worker must hear of it.
            if cancelled:
                self._give_up()
        return cancelled

    def _give_up(self) -> None:
        with self._condition:
            first = self._state == _CANCELLED
            if first:
                # Tells those who wait for several futures; from here on it counts as done.
                self.set_running_or_notify_cancel()
        if first:
            self._call.cancel()
            wake([self])

    def done(self) -> bool:
        """Whether the call has ended, by being cancelled or otherwise."""
        self._take_outcome()
        return self._is_finished() or (self._is_standard() and super().done())

    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
        self._take_outcome()
        return self._is_standard() and not self._is_finished() and super().cancelled()

    def running(self) -> bool:
        """Whether a worker has the call now."""
        return not self.done() and self._call.running()

    def _wait(self, timeout: float | None) -> float | None:
        """Waits, unless the future is a standard one, and says what is left of the time."""
        if self._is_standard():
            return timeout
        left = self._call.wait(timeout)
        self._take_outcome()
        return left

    def _ring_for(self, waiter: asyncio.Future[None]) -> bool:
        return not self._is_standard() and self._call.ring(bell_here(waiter.get_loop()), waiter)

    def _is_standard(self) -> bool:
        return "_state" in self.__dict__

    def _is_finished(self) -> bool:
        return self.__dict__.get("_state") == _FINISHED

    def __getattr__(self, name: str) -> Any:
        if name not in _STANDARD:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        self._become_standard()
        return self.__dict__[name]

    def _become_standard(self) -> None:
        """Takes the fields of a standard future.

        The state comes with all others, or when it is the last one, before those that only serve to wait for
        it. So other threads, and handlers of signals, find one that is whole.
        """
        fields: dict[str, Any] = {**vars(Future[Any]()), "_waiters_in_loops": []}
        while not self._take_outcome() and not self._is_standard():
            self._call.publish(self, fields, False)
        for name, value in fields.items():
            self.__dict__.setdefault(name, value)

    def _take_outcome(self) -> bool:
        """Whether the outcome was there to be taken."""
        if self._is_standard():
            return False
        outcome = self._call.outcome()
        if outcome is None:
            return False
        self._call.publish(self, self._ended(*outcome), True)
        return True

    def _ended(self, value: Any, error: BaseException | None) -> dict[str, Any]:
        from concurrent.futures import CancelledError

        if isinstance(error, CancelledError):
            return {"_state": _CANCELLED_AND_NOTIFIED}
        value, error = self._read(value, error)
        return {"_state": _FINISHED, "_result": value, "_exception": error}

    def _read(self, value: Any, error: BaseException | None) -> tuple[Any, BaseException | None]:
        """The outcome as the app gets it."""
        return value, error

    def _succeed(self, value: Any) -> None:
        value, error = self._read(value, None)
        if error is None:
            super()._succeed(value)
        else:
            super()._fail(error)

    def _fail(self, error: BaseException) -> None:
        super()._fail(self._read(None, error)[1] or error)
