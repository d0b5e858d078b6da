"""The pool: what an app creates and calls functions with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeAlias, Unpack, cast, overload

from . import _native, exit, reporting
from ._generated.options import Limit, PoolOptions
from .awaiting import PoolFuture
from .calling import Calling
from .listeners import Listener, Listeners

if TYPE_CHECKING:
    from ._generated import events
    from ._generated.stats import CallInfo, Stats

_Condition: TypeAlias = Literal["warm", "ready", "drained"]

# How long closing waits for listeners to hear of the last events.
_LAST_EVENTS_S = 1.0


class Pool(Calling):
    """Worker processes of one kind with one queue.

    ``Pool(python="workers/", workers=4)`` takes the functions of a file, a folder or a module; ``node=``
    and ``command=`` take workers in other languages. Workers start as calls need them. Every method may
    be used from any thread.

    In a forked child of the process that made it every method raises ``Forked``.
    """

    def __init__(self, **options: Unpack[PoolOptions]) -> None:
        super().__init__(_native.Pool(cast("dict[str, object]", options)))
        self._listeners = Listeners(self._native)
        reporting.report(self._native)
        exit.remember(self._native, self)

    @property
    def name(self) -> str:
        """What events, errors and workers call it."""
        return self._native.name

    @property
    def closed(self) -> bool:
        """Whether it takes no more calls."""
        return self._native.closed

    # --- its state

    def warm(self, workers: int | None = None, timeout: Limit | None = None) -> None:
        """Starts workers ahead of calls, and returns when so many are ready; by default all.

        Raises ``StartFailed`` when they cannot be started, ``TimeoutError`` after ``timeout``.
        """
        self._wait_until("warm", _count(workers), timeout)

    async def awarm(self, workers: int | None = None) -> None:
        """As ``warm``, without blocking the event loop."""
        await self._told("warm", _count(workers))

    def ready(self, timeout: Limit | None = None) -> None:
        """Returns when a call that is made now would find room in the queue; at once if it does already."""
        self._wait_until("ready", None, timeout)

    async def aready(self) -> None:
        """As ``ready``, without blocking the event loop."""
        await self._told("ready")

    def drained(self, timeout: Limit | None = None) -> None:
        """Returns when no call waits or runs; at once if none does."""
        self._wait_until("drained", None, timeout)

    async def adrained(self) -> None:
        """As ``drained``, without blocking the event loop."""
        await self._told("drained")

    def reload(self) -> None:
        """Has every worker replaced by one that loads the code anew, one by one, and does not wait for it.

        No call is lost: a replacement is ready before its predecessor leaves. Code that cannot start keeps
        the old workers.
        """
        self._native.reload()

    # --- looking

    def stats(self) -> Stats:
        """What the pool does now and has done."""
        return self._native.stats()

    def calls(self) -> list[CallInfo]:
        """The calls that run or wait now, oldest first."""
        return self._native.calls()

    def flight_record(self) -> str:
        """The last 10 000 things that the pool heard and decided by, about three a call, as text: to send
        with a report of what went wrong.

        It has ids, sizes and times, and no names, inputs or results. ``ganger replay`` plays it again while
        its beginning is among them.
        """
        return self._native.flight_record()

    def invite(self) -> tuple[str, str] | None:
        """Address and one-time token for a worker that you start by hand: its ``GANGER_ENDPOINT`` and
        ``GANGER_TOKEN``.

        None unless the pool has the option ``endpoint``.
        """
        return self._native.invite()

    @overload
    def on(
        self, event: Literal["worker:start"], listener: Callable[[events.WorkerStartEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["worker:ready"], listener: Callable[[events.WorkerReadyEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["worker:exit"], listener: Callable[[events.WorkerExitEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["worker:recycle"], listener: Callable[[events.WorkerRecycleEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self,
        event: Literal["worker:unresponsive"],
        listener: Callable[[events.WorkerUnresponsiveEvent], object],
        /,
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["worker:log"], listener: Callable[[events.WorkerLogEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["call:retry"], listener: Callable[[events.CallRetryEvent], object], /
    ) -> None: ...
    @overload
    def on(self, event: Literal["reload"], listener: Callable[[events.ReloadEvent], object], /) -> None: ...
    @overload
    def on(
        self, event: Literal["queue:full"], listener: Callable[[events.QueueFullEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["queue:drain"], listener: Callable[[events.QueueDrainEvent], object], /
    ) -> None: ...
    @overload
    def on(self, event: Literal["warning"], listener: Callable[[events.WarningEvent], object], /) -> None: ...
    @overload
    def on(self, event: events.EventName, listener: Callable[[Any], object], /) -> None: ...
    def on(self, event: str, listener: Listener, /) -> None:
        """Has ``listener`` called with the data of every such event, in order, on a thread of the pool.

        One that raises is logged as a warning by the logger ``ganger`` and disturbs nothing.
        """
        self._listeners.add(event, listener)

    def off(self, event: events.EventName, listener: Callable[[Any], object], /) -> bool:
        """Stops calling a listener. False if it was none."""
        return self._listeners.remove(event, listener)

    # --- the end

    def close(self, timeout: Limit | None = None) -> None:
        """Takes no more calls, finishes those it has, stops its workers, and returns when the last one is
        gone.

        Calls that are not done after ``timeout`` (by default the option ``close_timeout``) fail with
        ``PoolClosed``. Ctrl-C ends it at once.
        """
        self._native.close(timeout)
        self._hear_out()

    def terminate(self) -> None:
        """Kills its workers now. Calls fail with ``PoolClosed``."""
        self._native.terminate()
        self._hear_out()

    async def aclose(self, timeout: Limit | None = None) -> None:
        """As ``close``, without blocking the event loop."""
        future = PoolFuture[None]()
        self._native.close_soon(future, timeout)
        await future
        await self._hear_out_elsewhere()

    async def aterminate(self) -> None:
        """As ``terminate``, without blocking the event loop."""
        future = PoolFuture[None]()
        self._native.terminate_soon(future)
        await future
        await self._hear_out_elsewhere()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes; left by an exception it terminates, so that the exception need not wait."""
        if self._native.forked:
            return  # Not ours to end: a forked child leaves its parent's pool alone.
        if kind is None:
            self.close()
        else:
            self.terminate()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._native.forked:
            return
        await (self.aclose() if kind is None else self.aterminate())

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        if native is None or native.forked or native.closed:
            return
        unclosed = f"unclosed {self!r}"
        native.terminate_soon()
        warnings.warn(unclosed, ResourceWarning, source=self, stacklevel=2)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to the process that made it: it cannot be pickled or copied")

    def __repr__(self) -> str:
        state = "forked" if self._native.forked else "closed" if self._native.closed else "open"
        return f"<ganger.Pool {self.name!r} {state}>"

    def _wait_until(self, what: _Condition, workers: int | None, timeout: Limit | None) -> None:
        if not self._native.wait_until(what, workers, timeout):
            raise TimeoutError(f"pool {self.name!r} is not {what} after {timeout}")

    async def _told(self, what: _Condition, workers: int | None = None) -> None:
        future = PoolFuture[None]()
        wait = self._native.tell_when(future, what, workers)
        await future.given_up_by(lambda: self._native.stop_waiting(wait))

    def _hear_out(self) -> None:
        """Whoever closes a pool has then heard of everything, unless it is a listener that closes it."""
        self._native.flush_events(_LAST_EVENTS_S)

    async def _hear_out_elsewhere(self) -> None:
        if not self._native.flush_events(0.0):
            from asyncio import to_thread

            await to_thread(self._hear_out)


def _count(workers: int | None) -> int | None:
    if workers is not None and workers < 0:
        raise ValueError(f"workers is {workers}, but must be at least 0")
    return workers
