"""One caller calls on while workers are replaced after so many calls; a worker takes a second to load.

One peer, one process: ``recycling.py PEER recycling PARAMETERS``, prints lines like hosts.py.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import model
from telling import done, emit

HERE = Path(__file__).resolve().parent
# Between two calls, so that the caller is not what is measured.
PAUSE_S = 0.001
SLICE_S = 0.05


class Peer(NamedTuple):
    call: Callable[[float], int]
    close: Callable[[], Any]


class Served(NamedTuple):
    begun: float
    took: float
    pid: int


def _ganger(max_calls: int | None) -> Peer:
    from ganger import Pool

    pool = Pool(python=HERE / "model_worker.py", workers=1, max_calls=max_calls)
    return Peer(lambda ms: pool.call("answer", {"ms": ms}), pool.close)


def _executor(max_calls: int) -> Peer:
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(1, max_tasks_per_child=max_calls, initializer=model.load)
    return Peer(lambda ms: pool.submit(model.answer, ms).result(), pool.shutdown)


def _multiprocessing(max_calls: int) -> Peer:
    from multiprocessing import Pool

    pool = Pool(1, maxtasksperchild=max_calls, initializer=model.load)
    return Peer(lambda ms: pool.apply(model.answer, (ms,)), pool.terminate)


PEERS: dict[str, Callable[[int], Peer]] = {
    "ganger Python→Python": _ganger,
    "ganger, never replaced": lambda _: _ganger(None),
    "ProcessPoolExecutor": _executor,
    "multiprocessing.Pool": _multiprocessing,
}


def serve(peer: Peer, seconds: float, ms: float) -> list[Served]:
    peer.call(ms)
    served: list[Served] = []
    begin = time.perf_counter()
    while (begun := time.perf_counter()) - begin < seconds:
        pid = peer.call(ms)
        served.append(Served(begun - begin, time.perf_counter() - begun, pid))
        time.sleep(PAUSE_S)
    return served


def tell(served: list[Served]) -> None:
    took = sorted(call.took * 1000 for call in served)
    for metric, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        emit(metric, took[int(len(took) * share)], "ms", len(took))
    emit("slowest", took[-1], "ms", len(took))
    pids = [call.pid for call in served]
    replaced = [call for call, before in zip(served[1:], pids, strict=False) if call.pid != before]
    emit("replaced", len(replaced), "workers", len(took))
    # For the chart: when another worker answered first, and the slowest call of each moment with its begin.
    for number, call in enumerate(replaced):
        emit(f"replaced {number}", call.begun, "s", 1)
    moments: dict[int, list[Served]] = {}
    for call in served:
        moments.setdefault(int(call.begun / SLICE_S), []).append(call)
    for calls in moments.values():
        slowest = max(calls, key=lambda call: call.took)
        emit(f"moment {slowest.begun:.3f}", slowest.took * 1000, "ms", len(calls))


def main() -> None:
    name, given = sys.argv[1], json.loads(sys.argv[3])
    peer = PEERS[name](given.pop("max_calls"))
    tell(serve(peer, **given))
    done()
    peer.close()


if __name__ == "__main__":
    main()
