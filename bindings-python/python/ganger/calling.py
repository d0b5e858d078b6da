"""Calls, in all the ways in which an app can make them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

from . import _native, feeding, mapping, tracing
from ._generated.options import CallOptions
from .awaiting import PoolFuture
from .company import AccompaniedFuture, Company
from .future import CallFuture
from .outcome import WorkerOutcome
from .progress import Progress, drawn, watcher
from .proxy import Proxy
from .streams import CallStream

if TYPE_CHECKING:
    from ._generated.stats import FunctionInfo

Inputs: TypeAlias = Iterable[object] | AsyncIterable[object]
OnProgress: TypeAlias = Callable[[Progress], object]


class Calling:
    """What a pool does with calls."""

    def __init__(self, native: _native.Pool) -> None:
        self._native = native

    def call(
        self,
        function: str,
        value: object = None,
        /,
        *,
        inputs: Inputs | None = None,
        on_progress: OnProgress | None = None,
        progress: bool = False,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Calls a function and waits for what it returns. Ctrl-C cancels the call.

        ``inputs`` are the items of the function's input stream, pulled from any iterable as the function
        reads them. ``on_progress`` is told how far the function says it is, on a thread of the library;
        ``progress=True`` draws that with tqdm.
        """
        if inputs is not None or on_progress is not None or progress:
            company = Company(watcher(function, on_progress, progress))
            return self._accompanied(function, value, options, inputs, company, waits=False).waited()
        tracing.add_to(options)
        if options:
            return self._native.call(function, value, cast("dict[str, object]", options))
        return self._native.call(function, value)

    def submit(
        self,
        function: str,
        value: object = None,
        /,
        *,
        inputs: Inputs | None = None,
        on_progress: OnProgress | None = None,
        progress: bool = False,
        **options: Unpack[CallOptions],
    ) -> CallFuture[Any]:
        """Calls a function and returns with a future to wait for, to ``await``, or to cancel.

        It returns at once, unless the queue is full and ``when_full`` is ``wait``: then it waits for room,
        but not in the thread of a running event loop, where the future alone waits. With ``inputs`` it
        always returns at once.

        Raises what cannot become a call: ``InvalidInput``, ``InvalidOption``, ``PoolClosed``, ``Forked``.
        Everything else, ``QueueFull`` included, is the future's.
        """
        wait = self._native.waits and not _is_in_loop()
        if inputs is not None or on_progress is not None or progress:
            company = Company(watcher(function, on_progress, progress))
            return self._accompanied(function, value, options, inputs, company, waits=wait)
        tracing.add_to(options)
        given = cast("dict[str, object]", options) if options else None
        return CallFuture(self._native.submit(function, value, given, wait))

    def stream(
        self,
        function: str,
        value: object = None,
        /,
        *,
        inputs: Inputs | None = None,
        on_progress: OnProgress | None = None,
        progress: bool = False,
        **options: Unpack[CallOptions],
    ) -> CallStream[Any]:
        """Calls a function that yields, and gives its items as they come: ``for`` or ``async for`` them.

        The call begins now, and the worker gets ahead of the reader by 64 items or 4 MiB. To leave the loop
        early cancels it. ``inputs`` are items for the function to read meanwhile, pulled from any iterable: a
        plain one on a thread of its own, an asynchronous one on the running event loop.
        """
        if inputs is not None:
            feeding.check(inputs)
        tracing.add_to(options)
        company = Company(watcher(function, on_progress, progress))
        given = cast("dict[str, object]", options) if options else None
        fed = inputs is not None
        native, sink = _native.stream(self._native, function, value, given, fed, company.mailbox)
        if inputs is not None and sink is not None:
            company.feeder = feeding.feeder(inputs, sink)
        return CallStream(native, company if fed or company.watcher is not None else None)

    def proxy(self, **options: Unpack[CallOptions]) -> Any:
        """The functions of the workers as functions: ``proxy.prices.convert(3)`` for ``call`` (it waits),
        ``await proxy.prices.convert.submit(3)`` for ``submit``, ``proxy.llm.tokens.stream(prompt="x")`` for
        ``stream``.

        Arguments are the function's own. Options of calls are given here, for all of them, or as in
        ``proxy.prices.convert.options(timeout=0.5)(3)``. ``ganger types`` writes types for it.
        """
        return Proxy(self, "", cast("dict[str, Any]", options))

    def functions(self) -> list[FunctionInfo]:
        """The functions that workers offer; none before the first worker was ready."""
        return self._native.functions()

    def alloc(self, size: int, /) -> _native.Block:
        """Memory of ``size`` bytes to fill in place with a call's input, which then copies nothing.

        What is in it at first is undefined. Give it to ``call`` or ``submit`` once nothing can write it any
        more: with a writable view left that raises ``BufferError``. If shared memory has no room, it is
        ordinary memory, and works all the same.
        """
        return self._native.alloc(size)

    def broadcast(
        self, function: str, value: object = None, /, **options: Unpack[CallOptions]
    ) -> list[WorkerOutcome]:
        """Calls a function once on every worker that is ready now, ahead of the calls that wait.

        Returns what became of each, in the order of the workers; none if no worker is ready. Ctrl-C cancels
        all of them.
        """
        tracing.add_to(options)
        outcomes = self._native.broadcast(function, value, cast("dict[str, object]", options))
        return [WorkerOutcome(*outcome) for outcome in outcomes]

    async def abroadcast(
        self, function: str, value: object = None, /, **options: Unpack[CallOptions]
    ) -> list[WorkerOutcome]:
        """As ``broadcast``, without blocking the event loop. Cancelling it cancels the calls."""
        tracing.add_to(options)
        future = PoolFuture[Any]()
        calls = self._native.broadcast_soon(future, function, value, cast("dict[str, object]", options))
        future.given_up_by(lambda: self._native.cancel_all(calls))
        return [WorkerOutcome(*outcome) for outcome in await future]

    def map(
        self,
        function: str,
        values: Iterable[object],
        /,
        *,
        window: int | None = None,
        progress: bool = False,
        **options: Unpack[CallOptions],
    ) -> Iterator[Any]:
        """Calls a function with each value and yields the results in order.

        At most ``window`` calls are under way or waiting to be taken; by default twice as many as run at
        once. The first error is raised where its result would be. Leaving the loop cancels the rest.
        ``progress=True`` draws with tqdm how many results have been taken.
        """

        def submit(value: object) -> CallFuture[Any]:
            return self.submit(function, value, **options)

        results = mapping.in_order(submit, values, self._window(window))
        return drawn(results, function, values) if progress else results

    def map_unordered(
        self,
        function: str,
        values: Iterable[object],
        /,
        *,
        window: int | None = None,
        progress: bool = False,
        **options: Unpack[CallOptions],
    ) -> Iterator[Any]:
        """As ``map``, with the results in the order in which they come."""

        def submit(value: object) -> CallFuture[Any]:
            return self.submit(function, value, **options)

        results = mapping.as_they_come(submit, values, self._window(window))
        return drawn(results, function, values) if progress else results

    def _accompanied(
        self,
        function: str,
        value: object,
        options: CallOptions,
        inputs: Inputs | None,
        company: Company,
        *,
        waits: bool,
    ) -> AccompaniedFuture[Any]:
        if inputs is not None:
            feeding.check(inputs)
        tracing.add_to(options)
        given = cast("dict[str, object]", options) if options else None
        if inputs is not None:
            call, sink = _native.submit_fed(self._native, function, value, given, company.mailbox)
            company.feeder = feeding.feeder(inputs, sink)
        else:
            assert company.mailbox is not None, "somebody goes along"
            call = _native.submit_told(self._native, function, value, given, waits, company.mailbox)
        return AccompaniedFuture(call, company)

    def _window(self, window: int | None) -> int:
        if window is None:
            return max(2 * self._native.room, 2)
        if window < 1:
            raise ValueError(f"window is {window}, but must be at least 1")
        return window


def _is_in_loop() -> bool:
    """Whether an event loop runs on this thread, which waiting would stop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
