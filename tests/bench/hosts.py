"""One Python peer, one case, one process: ``hosts.py PEER CASE PARAMETERS``, the parameters as JSON.

Prints JSON lines ``{metric, value, unit, count}``; the driver runs it under a time limit.
"""

from __future__ import annotations

import collections
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import functions

HERE = Path(__file__).resolve().parent
TINY = {"a": 1}


class Peer(Protocol):
    """A pool: `call` is the quickest way to one result; `begin` starts a call, `end` waits for its result."""

    def call(self, function: str, payload: object) -> Any: ...
    def begin(self, function: str, payload: object) -> Any: ...
    def end(self, handle: Any) -> Any: ...
    def close(self) -> None: ...


class Futures:
    """Peers whose `submit` takes a function and returns a future."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def call(self, function: str, payload: object) -> Any:
        return self.end(self.begin(function, payload))

    def begin(self, function: str, payload: object) -> Any:
        return self.pool.submit(getattr(functions, function), payload)

    def end(self, handle: Any) -> Any:
        return handle.result()

    def close(self) -> None:
        self.pool.shutdown()


class Multiprocessing:
    def __init__(self, workers: int) -> None:
        from multiprocessing import Pool

        self.pool = Pool(workers)

    def call(self, function: str, payload: object) -> Any:
        return self.pool.apply(getattr(functions, function), (payload,))

    def begin(self, function: str, payload: object) -> Any:
        return self.pool.apply_async(getattr(functions, function), (payload,))

    def end(self, handle: Any) -> Any:
        return handle.get()

    def close(self) -> None:
        self.pool.terminate()
        self.pool.join()


class Ganger:
    def __init__(self, language: str, workers: int, concurrency: int) -> None:
        from ganger import Pool

        if language == "python":
            self.pool = Pool(python=HERE / "worker.py", workers=workers, concurrency=concurrency)
        else:
            self.pool = Pool(node=HERE / "functions.mjs", workers=workers, concurrency=concurrency)
        self.call, self.begin = self.pool.call, self.pool.submit

    def end(self, handle: Any) -> Any:
        return handle.result()

    def close(self) -> None:
        self.pool.close()


def _ganger_futures(workers: int, concurrency: int) -> Peer:
    """Used by its futures alone, as an executor would be."""
    pool = Ganger("python", workers, concurrency).pool

    class ByFutures(Futures):
        def begin(self, function: str, payload: object) -> Any:
            return pool.submit(function, payload)

        def close(self) -> None:
            pool.close()

    return ByFutures(pool)


def _executor(workers: int, _: int) -> Peer:
    from concurrent.futures import ProcessPoolExecutor

    return Futures(ProcessPoolExecutor(workers))


PEERS: dict[str, Callable[[int, int], Peer]] = {
    "ganger Python→Python": lambda workers, concurrency: Ganger("python", workers, concurrency),
    "ganger Python→Node": lambda workers, concurrency: Ganger("node", workers, concurrency),
    "ganger futures Python→Python": _ganger_futures,
    "ProcessPoolExecutor": _executor,
    "multiprocessing.Pool": lambda workers, _: Multiprocessing(workers),
}


def windowed(peer: Peer, function: str, payload: object, calls: int, window: int) -> float:
    """Seconds that `calls` calls take with at most `window` in flight."""
    begin = time.perf_counter()
    flying: collections.deque[Any] = collections.deque()
    for _ in range(calls):
        if len(flying) >= window:
            peer.end(flying.popleft())
        flying.append(peer.begin(function, payload))
    while flying:
        peer.end(flying.popleft())
    return time.perf_counter() - begin


def latency(peer: Peer, calls: int) -> None:
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        peer.call("noop", TINY)
        times.append((time.perf_counter() - begin) * 1e6)
    emit("p50", statistics.median(times), "µs", calls)
    emit("p99", sorted(times)[len(times) * 99 // 100], "µs", calls)


def throughput(peer: Peer, calls: int, batches: int) -> None:
    rates = [calls / windowed(peer, "noop", TINY, calls, 64) for _ in range(batches)]
    emit("rate", statistics.median(rates), "calls/s", calls * batches)


def waits(peer: Peer, calls: int, ms: int) -> None:
    # Once unmeasured: the pool starts workers as calls need them, and these calls need all of them.
    windowed(peer, "wait", {"ms": ms}, calls, calls)
    emit("total", windowed(peer, "wait", {"ms": ms}, calls, calls), "s", calls)


def emit(metric: str, value: float, unit: str, count: int) -> None:
    print(json.dumps({"metric": metric, "value": value, "unit": unit, "count": count}), flush=True)


def main() -> None:
    name, case, given = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    peer = PEERS[name](given.pop("workers"), given.pop("concurrency", 1))
    windowed(peer, "noop", TINY, given.pop("warmup"), 16)
    cases: dict[str, Callable[..., None]] = {"latency": latency, "throughput": throughput, "waits": waits}
    cases[case](peer, **given)
    peer.close()


if __name__ == "__main__":
    main()
