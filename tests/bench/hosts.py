"""One Python peer, one case, one process: ``hosts.py PEER CASE PARAMETERS``, the parameters as JSON.

Prints JSON lines ``{metric, value, unit, count}``; the driver runs it under a time limit.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import functions
from kills import crash, living
from pools import POOLS, Futures
from telling import ask, done, emit

TINY = {"a": 1}
WARM_UP_S = 0.4
# A neighbour's busy moment spoils one of them.
SLICES = 5
# Items of a stream that show about how long more will take.
FEW = 1000
# How long a pool may take to start the rest of its workers.
STARTING_S = 5


def latency(peer: Futures, workers: int, seconds: float, calls: int) -> None:
    del workers
    list(_within(WARM_UP_S, lambda: peer.call("noop", TINY)))
    before = ask("cpu")
    times = []
    for took in _within(seconds, lambda: peer.call("noop", TINY)):
        times.append(took * 1e6)
        if len(times) == calls:
            break
    _cpu(before, len(times))
    emit("p50", statistics.median(times), "µs", len(times))
    emit("p99", sorted(times)[len(times) * 99 // 100], "µs", len(times))


def throughput(peer: Futures, workers: int, window: int, seconds: float) -> None:
    del workers
    peer.through("noop", _until(WARM_UP_S, TINY), window)
    before = ask("cpu")
    counts, rates = [], []
    for _ in range(SLICES):
        begin = time.perf_counter()
        counts.append(peer.through("noop", _until(seconds / SLICES, TINY), window))
        rates.append(counts[-1] / (time.perf_counter() - begin))
    _cpu(before, sum(counts))
    emit("rate", statistics.median(rates), "calls/s", sum(counts))


def echo(peer: Futures, workers: int, bytes: int, window: int, seconds: float) -> None:
    """First with an eye on memory, then on time; windowed only with a window."""
    del workers
    data = peer.lend(os.urandom(bytes))
    peer.call("noop", TINY)
    ask("watch")
    for _ in range(2):
        if memoryview(peer.call(peer.echo, data)) != memoryview(data):
            raise RuntimeError("it came back another")
    growth = ask("growth")
    if growth is not None:
        emit("growth", growth, "bytes", 2)
    times = list(_within(seconds, lambda: peer.call(peer.echo, data)))
    emit("p50", statistics.median(times) * 1000, "ms", len(times))
    if window:
        peer.through(peer.echo, [data] * window, window)
        begin = time.perf_counter()
        count = peer.through(peer.echo, _until(seconds, data), window)
        emit("rate", count / (time.perf_counter() - begin), "calls/s", count)


def streams(peer: Futures, workers: int, bytes: int, chunk: int, seconds: float) -> None:
    """As many items as the time should hold, in slices; the first are looked at."""
    del workers
    first = list(peer.stream(3, bool(bytes), chunk))
    if first != [functions.block(number) if bytes else functions.item(number) for number in range(3)]:
        raise RuntimeError("they came otherwise")

    def rate_of(count: int) -> float:
        begin = time.perf_counter()
        got = sum(1 for _ in peer.stream(count, bool(bytes), chunk))
        took = time.perf_counter() - begin
        if got != count:
            raise RuntimeError(f"{got} items came of {count}")
        return count / took

    end = time.perf_counter() + WARM_UP_S
    rate = rate_of(FEW)
    while time.perf_counter() < end:
        rate = rate_of(FEW)
    count = max(FEW, round(rate * seconds / SLICES))
    before = ask("cpu")
    rates = [rate_of(count) for _ in range(SLICES)]
    _cpu(before, SLICES * count)
    emit("rate", statistics.median(rates), "items/s", SLICES * count)
    if bytes:
        emit("megabytes", statistics.median(rates) * bytes / 1e6, "MB/s", SLICES * count)


def waits(peer: Futures, workers: int, calls: int, ms: int) -> None:
    del workers
    # Once unmeasured: the pool starts workers as calls need them, and these calls need all of them.
    peer.through("wait", [{"ms": ms}] * calls, calls)
    begin = time.perf_counter()
    peer.through("wait", [{"ms": ms}] * calls, calls)
    emit("total", time.perf_counter() - begin, "s", calls)


def _until(seconds: float, payload: object) -> Iterator[object]:
    """The payload again and again, until the time is over."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        yield payload


def _within(seconds: float, call: Callable[[], object]) -> Iterator[float]:
    """How long each of as many calls as fit takes, of two at least."""
    end = time.perf_counter() + seconds
    count = 0
    while count < 2 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        yield time.perf_counter() - begin
        count += 1


def _cpu(before: float | None, calls: int) -> None:
    after = ask("cpu")
    if before is not None and after is not None:
        emit("cpu", (after - before) / calls * 100_000, "s", calls)


def main() -> None:
    name, case, given = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    begin = time.perf_counter()
    peer = POOLS[name](given["workers"], given.pop("concurrency", 1))
    peer.call("noop", TINY)
    emit("first", (time.perf_counter() - begin) * 1000, "ms", 1)
    if case not in ("waits", "streams"):
        living(peer, given["workers"], STARTING_S)
    cases: dict[str, Callable[..., None]] = {
        "latency": latency,
        "throughput": throughput,
        "echo": echo,
        "streams": streams,
        "waits": waits,
        "crash": crash,
    }
    cases[case](peer, **given)
    done()
    if case == "crash":
        os._exit(0)  # what was killed may never close
    peer.close()


if __name__ == "__main__":
    main()
