"""A worker with a model to load is replaced under calls: none fails or waits, and two workers are most."""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import support
from ganger import Pool

MODEL = Path(__file__).resolve().parents[2] / "tests" / "behavior" / "workers" / "model.py"
LOAD_S, MODEL_BYTES = 2.0, 300 << 20
LONG = os.environ.get("GANGER_CHAOS") == "long"
# Who waits for a load waits for all of it. Other work takes its time as well; `make chaos` is strict.
PATIENCE_S = LOAD_S / (10 if LONG else 2)


class Served(NamedTuple):
    begun: float
    ended: float
    pid: int


class Told(NamedTuple):
    at: float
    name: str
    data: Any


@pytest.mark.parametrize("callers", [1, 8])
def test_four_replacements_after_calls_fail_no_call_and_let_none_wait(callers: int) -> None:
    with Pool(python=MODEL, workers=1, max_calls=100) as pool:
        seen = Seen(pool)
        seen.serve(callers, lambda: pool.call("answer", {"ms": 1}), replacements=4)
        seen.assert_warm("calls", most=callers * 0.001 + PATIENCE_S)
        assert all(told.data["calls"] >= 90 for told in seen.of("worker:recycle"))
        assert 1.8 * MODEL_BYTES < seen.most_memory < 2.5 * MODEL_BYTES, f"{seen.most_memory >> 20} MiB"
        support.eventually(lambda: resident(pool) < 1.3 * MODEL_BYTES, "the memory of one worker is left")
        if LONG:
            assert seen.slowest < 3 * undisturbed(callers, len(seen.served)) + seen.stall
        if callers == 1:
            # One after the other, each worker's calls in one piece.
            pids = [pid for pid, _ in itertools.groupby(seen.served, key=lambda call: call.pid)]
            assert pids == [seen.first, *(told.data["pid"] for told in seen.replacements())][: len(pids)]


@pytest.mark.parametrize("callers", [1, 8] if LONG else [8])
def test_replacements_of_a_leaking_worker_fail_no_call_and_let_none_wait(callers: int) -> None:
    with Pool(python=MODEL, workers=1, max_memory="450mb") as pool:
        seen = Seen(pool)
        leak = {"ms": 50, "megabytes": 5}
        seen.serve(callers, lambda: pool.call("leak", leak), replacements=4 if LONG else 2)
        seen.assert_warm("memory", most=callers * 0.06 + PATIENCE_S)
        assert all(told.data["memory"] > 400e6 for told in seen.of("worker:recycle"))


class Seen:
    """What the callers and the listeners of a pool saw, and a look at it every few milliseconds."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.served: list[Served] = []
        self.told: list[Told] = []
        self.wrong: list[str] = []
        self.most_memory = 0
        self.looks = 0
        pool.warm(timeout=support.LIMIT_S)
        self.first: int = pool.stats()["details"][0]["pid"] or 0
        for name in ("worker:recycle", "worker:ready", "worker:exit"):
            pool.on(name, lambda data, name=name: self.told.append(Told(time.monotonic(), name, data)))  # pyright: ignore

    def of(self, name: str) -> list[Told]:
        return [told for told in self.told if told.name == name]

    def replacements(self) -> list[Told]:
        # The first worker may be told of after it is there.
        return [told for told in self.of("worker:ready") if told.data["pid"] != self.first]

    def serve(self, callers: int, call: Callable[[], int], replacements: int) -> None:
        """Calls without a pause until so many old workers have left."""
        give_up = time.monotonic() + replacements * support.LIMIT_S
        failed: list[BaseException] = []

        def caller() -> None:
            try:
                while len(self.of("worker:exit")) < replacements and time.monotonic() < give_up:
                    begun = time.monotonic()
                    pid = call()
                    self.served.append(Served(begun, time.monotonic(), pid))
            except BaseException as error:
                failed.append(error)

        with stalls_of_the_machine() as stalls:
            threads = [threading.Thread(target=caller) for _ in range(callers)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self.look()
                time.sleep(0.005)
        self.stall = max(stalls)
        assert failed == []
        assert len(self.of("worker:exit")) >= replacements

    def look(self) -> None:
        stats = self.pool.stats()
        self.looks += 1
        idle = [worker for worker in stats["details"] if worker["ready"] and not worker["busy"]]
        if stats["queued"] and idle:
            self.wrong.append(f"{stats['queued']} calls wait beside {idle}")
        if stats["workers"] > 2 or not stats["ready"]:
            self.wrong.append(f"{stats['workers']} workers, {stats['ready']} ready")
        self.most_memory = max(self.most_memory, resident(self.pool))

    def assert_warm(self, reason: str, most: float) -> None:
        """What holds of every replacement; `most` seconds are what a call may take where nothing stalls."""
        self.report()
        assert self.wrong == []
        recycles, exits = self.of("worker:recycle"), self.of("worker:exit")
        retired = self.first
        for recycle, ready, exit in zip(recycles, self.replacements(), exits, strict=False):
            assert recycle.at <= ready.at <= exit.at
            assert (recycle.data["pid"], recycle.data["reason"], recycle.data["cold"]) == (
                retired,
                reason,
                False,
            )
            assert (exit.data["pid"], exit.data["reason"], exit.data["running"]) == (retired, "recycled", 0)
            # Calls that begin while the replacement loads are served by the old worker. An event may come
            # after the first answer of whom it tells.
            during = [call.pid for call in self.served if recycle.at < call.begun and call.ended < ready.at]
            assert during.count(retired) > 10
            assert set(during) <= {retired, ready.data["pid"]}
            retired = ready.data["pid"]
        assert self.slowest < most + self.stall
        support.eventually(lambda: self.pool.stats()["workers"] == 1, "one worker is left")
        stats = self.pool.stats()
        assert (stats["failed"], stats["crashed"], stats["retried"], stats["peak"]["workers"]) == (0, 0, 0, 2)
        assert stats["completed"] == len(self.served)

    @property
    def slowest(self) -> float:
        return max(call.ended - call.begun for call in self.served)

    def report(self) -> None:
        """Figures that depend on the machine; pytest shows them with -rP."""
        took = sorted(call.ended - call.begun for call in self.served)
        p50, p99 = took[len(took) // 2], took[math.ceil(len(took) * 0.99) - 1]
        print(
            f"{len(took)} calls, p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms,"
            f" slowest {took[-1] * 1e3:.1f} ms;"
            f" at most {self.most_memory >> 20} MiB; {self.looks} looks;"
            f" the slowest call of a pool that was left alone {self.stall * 1e3:.1f} ms"
        )


def undisturbed(callers: int, calls: int) -> float:
    """What 99 % of as many calls take at most in a pool whose worker is never replaced, in seconds."""
    took: list[float] = []
    with Pool(python=MODEL, workers=1) as pool:
        pool.warm(timeout=support.LIMIT_S)

        def caller() -> None:
            while len(took) < calls:
                begun = time.monotonic()
                pool.call("answer", {"ms": 1})
                took.append(time.monotonic() - begun)

        threads = [threading.Thread(target=caller) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sorted(took)[math.ceil(len(took) * 0.99) - 1]


@contextmanager
def stalls_of_the_machine() -> Generator[list[float]]:
    """How long calls of a pool take that has nothing else to do: what a busy machine costs by itself."""
    took: list[float] = []
    over = threading.Event()
    with Pool(python=MODEL, workers=1, env={"MODEL_SECONDS": "0", "MODEL_MB": "0"}) as alone:
        alone.warm(timeout=support.LIMIT_S)

        def measure() -> None:
            while not over.wait(0.005):
                begun = time.monotonic()
                alone.call("answer", {"ms": 0})
                took.append(time.monotonic() - begun)

        thread = threading.Thread(target=measure)
        thread.start()
        try:
            yield took
        finally:
            over.set()
            thread.join()


def resident(pool: Pool) -> int:
    """Bytes that the workers of a pool hold."""
    pages = 0
    for worker in pool.stats()["details"]:
        try:
            pages += int(Path(f"/proc/{worker['pid']}/statm").read_text().split()[1])
        except OSError:
            pass
    return pages * os.sysconf("SC_PAGE_SIZE")
