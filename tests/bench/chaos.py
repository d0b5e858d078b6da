"""A random worker is killed every few milliseconds while calls echo bytes: what gets through, what fails.

One peer, one process: ``chaos.py PEER chaos PARAMETERS``, prints lines like hosts.py.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import statistics
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, Protocol

import functions
from telling import done as all_measured
from telling import emit

HERE = Path(__file__).resolve().parent
# An app that is refused does not ask again at once: it would only take the CPU from the workers that start.
PAUSE_AFTER_REFUSAL_S = 0.005


class Peer(Protocol):
    def submit(self, data: bytes) -> Future[Any]: ...
    def pids(self, any_worker: bool) -> list[int]:
        """Living workers; unless any will do, only those that were given a call."""
        ...

    def refused(self, error: BaseException) -> bool:
        """Whether the call failed without being lost with a worker."""
        ...

    def dead(self, error: BaseException) -> int | None:
        """The killed worker that an error names."""
        ...

    def close(self) -> None: ...


class Ganger:
    def __init__(self, workers: int) -> None:
        from ganger import Pool

        self.pool = Pool(python=HERE / "worker.py", workers=workers)

    def submit(self, data: bytes) -> Future[Any]:
        return self.pool.submit("echo", data)

    def pids(self, any_worker: bool) -> list[int]:
        workers = self.pool.stats()["details"]
        chosen = [worker for worker in workers if any_worker or worker["calls"] or worker["running"]]
        return [worker["pid"] for worker in chosen if worker["pid"] is not None]

    def refused(self, error: BaseException) -> bool:
        return getattr(error, "code", None) == "START_FAILED"

    def dead(self, error: BaseException) -> int | None:
        pid: int | None = getattr(error, "pid", None)
        return pid if getattr(error, "signal", None) == "SIGKILL" else None

    def close(self) -> None:
        self.pool.close()


class Deadpool:
    def __init__(self, workers: int) -> None:
        from deadpool import Deadpool  # type: ignore[import-not-found, unused-ignore]

        self.pool = Deadpool(max_workers=workers)

    def submit(self, data: bytes) -> Future[Any]:
        future: Future[Any] = self.pool.submit(functions.echo, data)
        return future

    def pids(self, any_worker: bool) -> list[int]:
        workers = [worker for worker in list(self.pool.existing_workers) if worker.is_alive()]
        return [worker.pid for worker in workers if any_worker or worker.tasks_ran_counter]

    def refused(self, error: BaseException) -> bool:
        del error  # it has no such answer
        return False

    def dead(self, error: BaseException) -> int | None:
        found = re.search(r"Subprocess (\d+) .*exitcode -9", str(error))
        return int(found[1]) if found else None

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)


class Killer(threading.Thread):
    """Kills one living worker after the other and remembers when."""

    def __init__(self, peer: Peer, every_s: float, victims: str) -> None:
        super().__init__(daemon=True)
        self.peer, self.every_s, self.any_worker = peer, every_s, victims == "any"
        self.killed: dict[int, float] = {}
        self.on = True

    def run(self) -> None:
        while self.on:
            time.sleep(self.every_s)
            alive = [pid for pid in self.peer.pids(self.any_worker) if pid not in self.killed]
            if alive:
                pid = random.choice(alive)
                self.killed[pid] = time.monotonic()
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


class Tally:
    """What became of the calls."""

    def __init__(self, peer: Peer, killed: dict[int, float]) -> None:
        self.peer, self.killed = peer, killed
        self.ok = self.lost = self.refused = self.unnamed = 0
        self.delays: list[float] = []

    def count(self, future: Future[Any]) -> None:
        now = time.monotonic()
        error = future.exception()
        if error is None:
            self.ok += 1
            return
        if self.peer.refused(error):
            self.refused += 1
            return
        self.lost += 1
        pid = self.peer.dead(error)
        if pid is None or pid not in self.killed:
            self.unnamed += 1
        else:
            self.delays.append((now - self.killed[pid]) * 1000)


def storm(
    peer: Peer, seconds: float, every_ms: float, bytes: int, window: int, settle_s: float, victims: str
) -> None:
    data = b"\7" * bytes
    for future in [peer.submit(data) for _ in range(window)]:
        future.result(60)
    killer = Killer(peer, every_ms / 1000, victims)
    tally = Tally(peer, killer.killed)
    killer.start()
    end = time.monotonic() + seconds
    flying: set[Future[Any]] = set()
    refused = 0
    while time.monotonic() < end:
        flying |= {peer.submit(data) for _ in range(window - len(flying))}
        done, flying = wait(flying, timeout=0.1, return_when=FIRST_COMPLETED)
        for future in done:
            tally.count(future)
        if tally.refused > refused:
            time.sleep(PAUSE_AFTER_REFUSAL_S)
            refused = tally.refused
    killer.on = False
    killer.join()
    done, flying = wait(flying, timeout=settle_s)
    for future in done:
        tally.count(future)
    emit("completed", tally.ok, "calls", 1)
    emit("lost", tally.lost, "calls", 1)
    emit("refused", tally.refused, "calls", 1)
    emit("unsettled", len(flying), "calls", 1)
    emit("unnamed", tally.unnamed, "calls", 1)
    emit("killed", len(killer.killed), "workers", 1)
    if tally.delays:
        emit("failure_delay", statistics.median(tally.delays), "ms", len(tally.delays))
    recovery(peer, data, settle_s)


def recovery(peer: Peer, data: bytes, limit_s: float) -> None:
    """How long it takes until eight calls beside each other succeed again."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit_s:
        done, waiting = wait([peer.submit(data) for _ in range(8)], timeout=limit_s)
        if not waiting and all(future.exception() is None for future in done):
            emit("recovery", time.monotonic() - begin, "s", 8)
            return
        time.sleep(0.02)


def main() -> None:
    name, given = sys.argv[1], json.loads(sys.argv[3])
    workers = given.pop("workers")
    peer: Peer = Ganger(workers) if name.startswith("ganger") else Deadpool(workers)
    storm(peer, **given)
    all_measured()
    peer.close()


if __name__ == "__main__":
    main()
