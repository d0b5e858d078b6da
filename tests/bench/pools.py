"""The Python peers, each behind the same few methods. What is imported is installed."""

# mypy: disable-error-code="import-not-found,import-untyped,unused-ignore"

from __future__ import annotations

import collections
import importlib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import functions

HERE = Path(__file__).resolve().parent


class Futures:
    """A pool whose `submit` takes a function and returns a future."""

    echo = "echo"

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def call(self, function: str, payload: object) -> Any:
        """The quickest way to one result."""
        return self.end(self.begin(function, payload))

    def begin(self, function: str, payload: object) -> Any:
        return self.pool.submit(getattr(functions, function), payload)

    def end(self, handle: Any) -> Any:
        return handle.result()

    def through(self, function: str, payloads: Iterable[object], window: int) -> int:
        """Calls with each payload, at most so many in flight, and tells how many there were."""
        flying: collections.deque[Any] = collections.deque()
        count = 0
        for payload in payloads:
            if len(flying) >= window:
                self.end(flying.popleft())
            flying.append(self.begin(function, payload))
            count += 1
        while flying:
            self.end(flying.popleft())
        return count

    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        """So many items. Most pools have no function that gives many: one is called for each, in chunks."""
        return self.pool.map(_of_each(blocks), range(count), chunksize=chunk)

    def lend(self, data: bytes) -> Any:
        """Bytes as a call takes them best."""
        return data

    def starts_ms(self) -> list[float]:
        """How long its workers took to start, if it tells."""
        return []

    def close(self) -> None:
        self.pool.shutdown()


class Ganger(Futures):
    def __init__(self, workers: int, concurrency: int, language: str = "python") -> None:
        from ganger import Pool

        target: Any = (
            {"python": HERE / "worker.py"} if language == "python" else {"node": HERE / "functions.mjs"}
        )
        pool = Pool(workers=workers, concurrency=concurrency, **target)
        super().__init__(pool)
        self._starts_ms: list[float] = []
        pool.on("worker:ready", lambda event: self._starts_ms.append(event["started_in"]))
        # Nothing of this file between app and pool.
        vars(self).update(call=pool.call, begin=pool.submit)

    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        del chunk
        return self.pool.stream("items", {"count": count, "blocks": int(blocks)})

    def starts_ms(self) -> list[float]:
        return self._starts_ms

    def close(self) -> None:
        self.pool.close()


class GangerFutures(Ganger):
    """Used by its futures alone, as an executor would be."""

    def __init__(self, workers: int, concurrency: int) -> None:
        super().__init__(workers, concurrency)
        del self.call


class GangerView(Ganger):
    echo = "view"


class GangerAlloc(GangerView):
    def lend(self, data: bytes) -> Any:
        block = self.pool.alloc(len(data))
        memoryview(block)[:] = data
        return block


class Multiprocessing(Futures):
    def call(self, function: str, payload: object) -> Any:
        return self.pool.apply(getattr(functions, function), (payload,))

    def begin(self, function: str, payload: object) -> Any:
        return self.pool.apply_async(getattr(functions, function), (payload,))

    def end(self, handle: Any) -> Any:
        return handle.get()

    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        return self.pool.imap(_of_each(blocks), range(count), chunk)

    def close(self) -> None:
        self.pool.terminate()


class Mpire(Multiprocessing):
    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        self.pool.set_keep_alive()  # or its workers would start anew
        return self.pool.imap(_of_each(blocks), range(count), chunk_size=chunk)


class Pebble(Futures):
    def begin(self, function: str, payload: object) -> Any:
        return self.pool.schedule(getattr(functions, function), args=(payload,))

    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        return super().stream(count, blocks, chunk).result()

    def close(self) -> None:
        self.pool.stop()
        self.pool.join()


class Joblib(Futures):
    """Takes lists only. With one worker it would run calls in the app itself, so it has two at least."""

    def __init__(self, workers: int) -> None:
        import joblib

        super().__init__(joblib)
        self.workers = max(2, workers)

    def begin(self, function: str, payload: object) -> Any:
        return self._run(function, [payload], 1)[0]

    def end(self, handle: Any) -> Any:
        return handle

    def through(self, function: str, payloads: Iterable[object], window: int) -> int:
        return len(self._run(function, payloads, window))

    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        each = self.pool.delayed(_of_each(blocks))
        parallel = self.pool.Parallel(self.workers, batch_size=chunk, return_as="generator")
        return parallel(each(number) for number in range(count))

    def _run(self, function: str, payloads: Iterable[object], window: int) -> list[Any]:
        # In a group the same bytes would be sent once for all.
        size = "auto" if function == "noop" else 1
        parallel = self.pool.Parallel(self.workers, pre_dispatch=window, batch_size=size)
        delayed = self.pool.delayed(getattr(functions, function))
        found: list[Any] = parallel(delayed(payload) for payload in payloads)
        return found

    def close(self) -> None:
        self.pool.externals.loky.get_reusable_executor().shutdown()


class Ray(Futures):
    def __init__(self, workers: int) -> None:
        import ray

        super().__init__(ray)
        options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        ray.init(num_cpus=workers, object_store_memory=1 << 30, _node_ip_address="127.0.0.1", **options)
        names = ("noop", "echo", "pid", "wait")
        self.functions = {name: ray.remote(getattr(functions, name)) for name in names}
        self.items = ray.remote(num_returns="streaming")(functions.items)

    def begin(self, function: str, payload: object) -> Any:
        return self.functions[function].remote(payload)

    def end(self, handle: Any) -> Any:
        return self.pool.get(handle)

    def stream(self, count: int, blocks: bool, chunk: int) -> Any:
        del chunk
        return map(self.pool.get, self.items.remote({"count": count, "blocks": int(blocks)}))


class Dask(Futures):
    def __init__(self, workers: int) -> None:
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=tempfile.gettempdir(),
        )
        super().__init__(Client(self.cluster))

    def begin(self, function: str, payload: object) -> Any:
        return self.pool.submit(getattr(functions, function), payload, pure=False)

    def close(self) -> None:
        self.pool.close()
        self.cluster.close()


def _of_each(blocks: bool) -> Callable[[int], Any]:
    return functions.block if blocks else functions.item


def _process(workers: int, queue: bool) -> Futures:
    import streaming

    return streaming.Process(workers, queue=queue)


def _in(wrapper: type[Futures], module: str, name: str) -> Callable[[int, int], Futures]:
    return lambda workers, _: wrapper(getattr(importlib.import_module(module), name)(workers))


POOLS: dict[str, Callable[[int, int], Futures]] = {
    "ganger Python→Python": Ganger,
    "ganger Python→Python, futures": GangerFutures,
    "ganger Python→Python, memoryview": GangerView,
    "ganger Python→Python, alloc": GangerAlloc,
    "ganger Python→Node": lambda workers, concurrency: Ganger(workers, concurrency, "node"),
    "ProcessPoolExecutor": _in(Futures, "concurrent.futures", "ProcessPoolExecutor"),
    "multiprocessing.Pool": _in(Multiprocessing, "multiprocessing", "Pool"),
    "loky": _in(Futures, "loky", "get_reusable_executor"),
    "pebble": _in(Pebble, "pebble", "ProcessPool"),
    "mpire": _in(Mpire, "mpire", "WorkerPool"),
    "deadpool-executor": _in(Futures, "deadpool", "Deadpool"),
    "joblib": lambda workers, _: Joblib(workers),
    "multiprocessing.Queue": lambda workers, _: _process(workers, queue=True),
    "multiprocessing.Pipe": lambda workers, _: _process(workers, queue=False),
    "Ray": lambda workers, _: Ray(workers),
    "Dask": lambda workers, _: Dask(workers),
}
