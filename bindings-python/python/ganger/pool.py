"""The pool: what an app creates and calls functions with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast, overload

from . import _native, exit, mapping
from ._generated.options import CallOptions, Limit, PoolOptions
from .future import CallFuture, EndFuture
from .listeners import Listener, Listeners

if TYPE_CHECKING:
    from ._generated import events
    from ._generated.stats import CallInfo, FunctionInfo, Stats

# How long closing waits for listeners to hear of the last events.
_LAST_EVENTS_S = 1.0


class Pool:
    """Worker processes of one kind with one queue.

    ``Pool(python="workers/", workers=4)`` takes the functions of a file, a folder or a module; ``node=``
    and ``command=`` take workers in other languages. Workers start as calls need them. Every method may
    be used from any thread.

    In a forked child of the process that made it every method raises ``Forked``.
    """

    def __init__(self, **options: Unpack[PoolOptions]) -> None:
        self._native = _native.Pool(cast("dict[str, object]", options))
        self._listeners = Listeners(self._native)
        exit.remember(self._native, self)

    @property
    def name(self) -> str:
        """What events, errors and workers call it."""
        return self._native.name

    @property
    def closed(self) -> bool:
        """Whether it takes no more calls."""
        return self._native.closed

    # --- calls

    def call(self, function: str, value: object = None, /, **options: Unpack[CallOptions]) -> Any:
        """Calls a function and waits for what it returns. Ctrl-C cancels the call."""
        if options:
            return self._native.call(function, value, cast("dict[str, object]", options))
        return self._native.call(function, value)

    def submit(
        self, function: str, value: object = None, /, **options: Unpack[CallOptions]
    ) -> CallFuture[Any]:
        """Calls a function and returns at once, with a future to wait for, to ``await``, or to cancel.

        Raises what cannot become a call: ``InvalidInput``, ``InvalidOption``, ``PoolClosed``, ``Forked``.
        Everything else, ``QueueFull`` included, is the future's.
        """
        future: CallFuture[Any] = CallFuture(self._native)
        given = cast("dict[str, object]", options) if options else None
        call = self._native.submit(future, function, value, given)
        future._call = call  # pyright: ignore[reportPrivateUsage]
        return future

    def map(
        self,
        function: str,
        values: Iterable[object],
        /,
        *,
        window: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[Any]:
        """Calls a function with each value and yields the results in order.

        At most ``window`` calls are under way or waiting to be taken; by default twice as many as run at
        once. The first error is raised where its result would be. Leaving the loop cancels the rest.
        """
        return mapping.in_order(
            lambda value: self.submit(function, value, **options), values, self._window(window)
        )

    def map_unordered(
        self,
        function: str,
        values: Iterable[object],
        /,
        *,
        window: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Iterator[Any]:
        """As ``map``, with the results in the order in which they come."""

        def submit(value: object) -> CallFuture[Any]:
            return self.submit(function, value, **options)

        return mapping.as_they_come(submit, values, self._window(window))

    # --- looking

    def stats(self) -> Stats:
        """What the pool does now and has done."""
        return self._native.stats()

    def calls(self) -> list[CallInfo]:
        """The calls that run or wait now, oldest first."""
        return self._native.calls()

    def functions(self) -> list[FunctionInfo]:
        """The functions that workers offer; none before the first worker was ready."""
        return self._native.functions()

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
        self, event: Literal["worker:log"], listener: Callable[[events.WorkerLogEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["call:retry"], listener: Callable[[events.CallRetryEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["queue:full"], listener: Callable[[events.QueueFullEvent], object], /
    ) -> None: ...
    @overload
    def on(
        self, event: Literal["queue:drain"], listener: Callable[[events.QueueDrainEvent], object], /
    ) -> None: ...
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
        future = EndFuture(self._native)
        self._native.close_soon(future, timeout)
        await future
        await self._hear_out_elsewhere()

    async def aterminate(self) -> None:
        """As ``terminate``, without blocking the event loop."""
        future = EndFuture(self._native)
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

    def __repr__(self) -> str:
        state = "forked" if self._native.forked else "closed" if self._native.closed else "open"
        return f"<ganger.Pool {self.name!r} {state}>"

    def _window(self, window: int | None) -> int:
        if window is None:
            return max(2 * self._native.room, 2)
        if window < 1:
            raise ValueError(f"window is {window}, but must be at least 1")
        return window

    def _hear_out(self) -> None:
        """Whoever closes a pool has then heard of everything, unless it is a listener that closes it."""
        if self._listeners.exist() and not self._listeners.is_speaking_here():
            self._native.flush_events(_LAST_EVENTS_S)

    async def _hear_out_elsewhere(self) -> None:
        if self._listeners.exist():
            from asyncio import to_thread

            await to_thread(self._hear_out)
