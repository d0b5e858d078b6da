"""An idle worker is killed and the next call made at once: how soon there is a result, and what got lost."""

from __future__ import annotations

import os
import queue
import signal
import statistics
import threading
import time
from collections.abc import Callable

from pools import Futures
from telling import emit

# A call that is not answered so long is given up and made again.
PATIENCE_S = 1.0
TOGETHER_MS = 20


def crash(peer: Futures, workers: int, kills: int, limit_s: float) -> None:
    times: list[float] = []
    lost = tried = 0
    while tried < kills and len(crew := living(peer, workers, limit_s)) >= workers:
        tried += 1
        os.kill(crew[0], signal.SIGKILL)
        begin = time.perf_counter()
        failed = _calls_until_result(peer, begin + limit_s)
        if failed is None:
            break
        lost += failed
        times.append((time.perf_counter() - begin) * 1000)
    emit("kills", kills, "kills", 1)
    emit("recovered", len(times), "kills", tried)
    if times:
        emit("lost", lost / len(times), "calls", len(times))
        emit("next", statistics.median(times), "ms", len(times))
        emit("slowest", max(times), "ms", len(times))
    if starts := peer.starts_ms()[workers:]:
        emit("start", statistics.median(starts), "ms", len(starts))


def living(peer: Futures, workers: int, limit_s: float) -> list[int]:
    """The living workers, once there are as many as there should be; fewer if that takes too long."""
    end = time.perf_counter() + limit_s
    found: set[int] = set()
    while len(found) < workers and time.perf_counter() < end:
        together = [_begin(lambda: peer.call("pid", {"ms": TOGETHER_MS})) for _ in range(2 * workers)]
        found = {pid for answer in together if isinstance(pid := _end(answer, PATIENCE_S), int)}
    return sorted(found)


def _calls_until_result(peer: Futures, end: float) -> int | None:
    """How many calls failed or hung before one had a result; nothing if none had."""
    failed = 0
    while time.perf_counter() < end:
        if _answer(lambda: peer.call("noop", {"a": 1}), PATIENCE_S) is not None:
            return failed
        failed += 1
        time.sleep(0.001)
    return None


def _answer(call: Callable[[], object], patience_s: float) -> object:
    """What a call gives, or nothing if it fails or hangs."""
    return _end(_begin(call), patience_s)


def _begin(call: Callable[[], object]) -> queue.SimpleQueue[object]:
    """A call on a thread of its own, since not every pool can be left waiting."""
    answer: queue.SimpleQueue[object] = queue.SimpleQueue()

    def run() -> None:
        try:
            answer.put(call())
        except Exception:
            answer.put(None)

    threading.Thread(target=run, daemon=True).start()
    return answer


def _end(answer: queue.SimpleQueue[object], patience_s: float) -> object:
    try:
        return answer.get(timeout=patience_s)
    except queue.Empty:
        return None
