"""A drop-in for ``concurrent.futures.ProcessPoolExecutor``."""

from __future__ import annotations

import itertools
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from threading import current_thread, main_thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast

from . import _native, exit, likeness, reporting, tracing
from ._generated.errors import GangerError, InvalidOption, InvalidResult
from .buffers import loads
from .future import CallFuture
from .pickling import payload

if TYPE_CHECKING:
    from ._generated.options import CallOptions, Duration, Limit, Size
    from ._generated.stats import Stats

P = ParamSpec("P")
T = TypeVar("T")

# The function that every Python worker has for this.
_RUN = "ganger.run"
# How long its end waits for what workers printed last.
_LAST_PRINTS_S = 1.0
# The standard library's queue has no end.
_ENDLESS: dict[str, object] = {"max_queue": 10_000_000, "max_queue_bytes": "1024gb"}


class ProcessPoolOptions(TypedDict, total=False):
    """Options of a pool that a ``ProcessPool`` has beside the standard library's."""

    name: str | None
    interpreter: str | None
    concurrency: int | None
    min_workers: int | None
    idle_timeout: Limit | None
    max_queue: int | None
    max_queue_bytes: Size | None
    timeout: Limit | None
    queue_timeout: Limit | None
    deadline: Limit | None
    cancel_grace: Duration | None
    close_timeout: Duration | None
    stop_timeout: Duration | None
    start_timeout: Duration | None
    health_interval: Limit | None
    health_timeout: Duration | None
    max_memory: Size | None
    max_age: Limit | None
    max_replacing: int | None
    inner_threads: int | None
    devices: Sequence[str] | None
    max_payload: Size | None
    memory_limit: Size | None
    shared_memory: Size | None
    env: Mapping[str, str | None] | None
    cwd: str | None


class ProcessPool(Executor):
    """Runs functions of this app in worker processes.

    Unlike the standard library's, it outlives the death of a worker: the calls it had fail with
    ``WorkerCrashed``, the rest go on. A call that runs can be cancelled. Workers are fresh processes:
    they import the modules that functions come from, and never run the main script again. One that has had
    ``max_tasks_per_child`` calls is replaced, and goes on until its replacement is ready.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: Any = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        max_tasks_per_child: int | None = None,
        **options: Unpack[ProcessPoolOptions],
    ) -> None:
        _check(max_workers, mp_context, initializer, max_tasks_per_child, options)
        given: dict[str, object] = {key: value for key, value in options.items() if value is not None}
        env, kept = likeness.variables(options.get("env") or {}, initializer, initargs)
        target = str(Path(__file__).with_name("_process_worker.py"))
        given = {
            "name": "processes",
            **_ENDLESS,
            **given,
            "python": target,
            "env": env,
            "workers": max_workers,
            "max_calls": max_tasks_per_child,
        }
        self._native = _native.Pool(given)
        reporting.report(self._native)
        reporting.print_through(self._native)
        # The standard library's waits for its calls at the end of the app, too, however long they take.
        exit.remember_to_its_end(self._native, self, None if "close_timeout" in given else "never", kept)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> CallFuture[T]:
        """Calls ``fn`` in a worker. Raises ``InvalidInput`` for what cannot be pickled."""
        no_names: dict[str, object] = {}
        arguments = payload(((fn, args, kwargs), no_names), self._native)
        options: CallOptions = {}
        tracing.add_to(options)
        given = cast("dict[str, object]", options)
        return _ProcessFuture(self._native.submit_pickled(_RUN, arguments, given))

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        """Results in order, as the standard library's gives them.

        ``timeout`` counts from now; ``buffersize`` bounds what is under way.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        until = None if timeout is None else time.monotonic() + timeout
        chunks = _chunks(zip(*iterables, strict=False), chunksize)
        first = itertools.islice(chunks, buffersize)
        waiting = deque(self.submit(_run_chunk, fn, chunk) for chunk in first)
        return self._results(fn, waiting, chunks, until)

    def _results(
        self,
        fn: Callable[..., T],
        waiting: deque[CallFuture[list[T]]],
        chunks: Iterator[list[tuple[Any, ...]]],
        until: float | None,
    ) -> Iterator[T]:
        try:
            while waiting:
                results = waiting[0].result(None if until is None else until - time.monotonic())
                waiting.popleft()
                waiting.extend(self.submit(_run_chunk, fn, chunk) for chunk in itertools.islice(chunks, 1))
                yield from results
        finally:
            for future in waiting:
                future.cancel()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls.

        Waiting, it returns when all are done and the workers are gone, without limit.
        """
        if cancel_futures:
            for call in self._native.calls():
                if call["state"] == "waiting":
                    self._native.cancel(call["id"])
        if wait:
            self._native.close("never")
            self._native.flush_events(_LAST_PRINTS_S)
        else:
            exit.finish(self)

    def terminate(self) -> None:
        """Kills the workers now; calls fail with ``PoolClosed``."""
        self._native.terminate()
        self._native.flush_events(_LAST_PRINTS_S)

    def stats(self) -> Stats:
        """What the pool does now and has done."""
        return self._native.stats()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits for its calls; left by an exception it does not."""
        if self._native.forked:
            return
        if kind is None:
            self.shutdown()
        else:
            self.terminate()

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        # The standard library's finishes its calls when nobody holds it any more.
        if native is not None and not native.forked and not native.closed:
            exit.finish(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to the process that made it: it cannot be pickled or copied")

    def __repr__(self) -> str:
        return f"<ganger.ProcessPool {self._native.name!r}>"


ProcessPool.__module__ = "ganger"


class _ProcessFuture(CallFuture[T]):
    """Reads the pickles that come back."""

    def _read(self, value: Any, error: BaseException | None) -> tuple[Any, BaseException | None]:
        if error is not None:
            return None, _original(error) or error
        try:
            return loads(value), None
        except BaseException as problem:
            _spare_ctrl_c(problem)
            unreadable = InvalidResult(f"the result cannot be unpickled: {problem}")
            unreadable.__cause__ = problem
            return None, unreadable


def _original(error: BaseException) -> BaseException | None:
    """What the function raised, with the worker's traceback for its cause, if it can be read."""
    pickled = getattr(error, "_pickled", None)
    if not isinstance(error, GangerError) or pickled is None:
        return None
    try:
        original = pickle.loads(pickled)
    except BaseException as problem:
        _spare_ctrl_c(problem)
        return None
    if not isinstance(original, BaseException):
        return None
    original.__cause__ = error.__cause__
    return original


def _spare_ctrl_c(problem: BaseException) -> None:
    """Reading a pickle runs code that may raise anything; a Ctrl-C meanwhile is the app's all the same."""
    if isinstance(problem, KeyboardInterrupt) and current_thread() is main_thread():
        raise problem


def _check(
    max_workers: int | None,
    mp_context: Any,
    initializer: Callable[..., object] | None,
    max_tasks_per_child: int | None,
    options: Mapping[str, object],
) -> None:
    """Refuses what the standard library's does, as it does, and what is no option here."""
    if max_workers is not None and max_workers < 1:
        raise ValueError("max_workers must be greater than 0")
    if mp_context is not None and mp_context.get_start_method() == "fork":
        raise ValueError("workers are fresh processes; an mp_context that forks is not supported")
    if initializer is not None and not callable(initializer):
        raise TypeError("initializer must be a callable")
    if max_tasks_per_child is not None and max_tasks_per_child < 1:
        raise ValueError("max_tasks_per_child must be >= 1")
    for name in options.keys() - ProcessPoolOptions.__annotations__.keys():
        import difflib

        known = ["max_workers", "max_tasks_per_child", *ProcessPoolOptions.__annotations__]
        near = ["max_workers"] if name == "workers" else difflib.get_close_matches(name, known, 1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InvalidOption(f'unknown option "{name}" of a ProcessPool{hint}')


def _chunks(source: Iterator[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(itertools.islice(source, size)):
        yield chunk


def _run_chunk(fn: Callable[..., T], chunk: list[tuple[Any, ...]]) -> list[T]:
    return [fn(*arguments) for arguments in chunk]
