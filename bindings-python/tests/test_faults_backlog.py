"""Faults of other pools with a backlog: memory without end, short calls behind long ones."""

from __future__ import annotations

import concurrent.futures
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import CallFuture, InvalidOption, Pool, QueueFull

FAULTS = support.FAULTS


def test_an_app_that_is_faster_than_its_workers_is_refused_and_does_not_grow(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    payload = b"x" * 100_000
    bound = 20 << 20
    with Pool(python=FAULTS, workers=1, max_queue_bytes="20mib") as pool:
        running = pool.submit("wait_for_file", str(gate))
        support.eventually(Path(f"{gate}.begun").exists)
        before = resident()
        waiting: list[CallFuture[object]] = []
        refused = 0
        for _ in range(3000):  # 300 MB in all
            future = pool.submit("echo", payload)
            # Refused at once, if at all.
            error = future.exception(support.LIMIT_S) if future.done() else None
            if error is None:
                waiting.append(future)
            else:
                refused += 1
                assert isinstance(error, QueueFull)
                assert error.details["queued_bytes"] <= bound
        assert refused > 2000
        assert 0 < pool.stats()["queued_bytes"] <= bound
        assert resident() - before < 5 * bound
        gate.touch()
        assert running.result(support.LIMIT_S)
        assert all(future.result(support.LIMIT_S) == payload for future in waiting)


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def test_short_calls_pass_a_long_one(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=FAULTS, workers=2) as pool:
        long = pool.submit("wait_for_file", str(gate))
        short = [pool.submit("echo", n) for n in range(50)]
        # None of them was handed to the worker of the long one: all are done while that still waits.
        assert [future.result(support.LIMIT_S) for future in short] == list(range(50))
        assert not long.done()
        gate.touch()
        assert long.result(support.LIMIT_S)


@pytest.mark.parametrize("shared_memory", [0, "1gb"])
def test_what_a_worker_does_not_read_holds_up_nobody_else(shared_memory: Any) -> None:
    inputs = [bytes([fill]) * 40_000_000 for fill in (1, 2)]
    with Pool(python=FAULTS, workers=2, shared_memory=shared_memory, health_interval="never") as pool:
        pool.warm()
        stopped = pool.stats()["details"][0]["pid"]
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        large = [pool.submit("echo", value) for value in inputs]
        done, held = concurrent.futures.wait(
            large, support.LIMIT_S, return_when=concurrent.futures.FIRST_COMPLETED
        )
        assert (len(done), len(held)) == (1, 1)
        # The other one reads and answers, and so it does with what is small.
        assert [pool.call("echo", n) for n in range(50)] == list(range(50))
        assert [(call["fn"], call["state"]) for call in pool.calls()] == [("echo", "running")]
        os.kill(stopped, signal.SIGCONT)
        assert [future.result(support.LIMIT_S) for future in large] == inputs


def test_as_few_workers_as_there_may_be_are_allowed_and_fewer_are_not() -> None:
    with Pool(python=FAULTS, workers=1, min_workers=1, idle_timeout=0.1) as pool:
        support.eventually(lambda: pool.stats()["ready"] == 1)
        assert pool.call("echo", 1) == 1
    with pytest.raises(InvalidOption, match="min_workers"):
        Pool(python=FAULTS, workers=1, min_workers=2)
    with pytest.raises(InvalidOption, match=r'"min_workers" is 2\.5'):
        Pool(python=FAULTS, workers=4, min_workers=2.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
