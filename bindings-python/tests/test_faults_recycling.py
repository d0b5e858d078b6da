"""Faults of other pools when workers are replaced: backlogs that hang, calls cut off, endless warnings."""

from __future__ import annotations

import logging
import os
import random
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import Pool, ProcessPool

FAULTS = support.FAULTS


def test_a_limit_of_calls_with_a_backlog_goes_on_to_the_end() -> None:
    with ProcessPool(1, max_tasks_per_child=2) as processes:
        pids = set[int]()

        def a_backlog_is_served() -> bool:
            futures = [processes.submit(os.getpid) for _ in range(10)]
            pids.update(future.result(support.LIMIT_S) for future in futures)
            return len(pids) >= 5

        # Two calls each, and what a worker serves while its replacement starts.
        support.eventually(a_backlog_is_served)


def test_futures_outlive_the_pool_that_was_dropped() -> None:
    script = """
        def submitted():
            pool = ProcessPool(1, max_tasks_per_child=2)
            return [pool.submit(abs, -n) for n in range(12)]
        warnings.simplefilter("ignore")
        futures = submitted()
        import gc
        gc.collect()
        say([future.result(25) for future in futures] == list(range(12)))
    """
    code, out, errors = support.run(script)
    assert (code, out) == (0, "True\n"), errors


def test_planned_replacements_are_events_and_never_warnings(
    caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    told: list[Any] = []
    with caplog.at_level(logging.DEBUG), Pool(python=FAULTS, workers=1, max_calls=2) as pool:
        pool.on("worker:recycle", told.append)
        support.eventually(lambda: pool.call("pid") and len(told) >= 5)
    assert {event["reason"] for event in told} == {"calls"}
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
    assert recwarn.list == []


def test_eight_calls_at_a_time_lose_nothing_while_their_worker_is_replaced_again_and_again() -> None:
    dice = random.Random(15)
    with Pool(python=FAULTS, workers=1, concurrency=8, max_calls=10) as pool:
        futures = [pool.submit("nap", dice.random() * 0.05) for _ in range(400)]
        pids = [future.result(support.LIMIT_S) for future in futures]
        support.eventually(lambda: pool.stats()["workers"] == 1)
        stats = pool.stats()
    assert (stats["completed"], stats["failed"], stats["crashed"]) == (400, 0, 0)
    assert len(set(pids)) >= 3


@pytest.mark.parametrize(
    "limit",
    [{"max_memory": "150mb"}, {"max_age": 0.5}, {"max_calls": 1}],
    ids=lambda limit: next(iter(limit)),
)
def test_a_call_is_never_cut_off_by_a_limit_of_its_worker(limit: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    told: list[Any] = []
    exits: list[Any] = []
    with Pool(python=FAULTS, workers=1, concurrency=2, **limit) as pool:
        pool.on("worker:recycle", told.append)
        pool.on("worker:exit", exits.append)
        pid = pool.call("pid")
        running = pool.submit("grow_and_wait", {"megabytes": 200, "path": str(gate)})
        if "max_calls" not in limit:
            support.eventually(Path(f"{gate}.begun").exists)
        support.eventually(lambda: told, "it is over its limit")
        # The replacement serves, and the old one stays for its call.
        support.eventually(lambda: pool.call("pid") != pid)
        gate.touch()
        assert running.result(support.LIMIT_S)
        support.eventually(lambda: exits)
        assert {(event["reason"], event["running"]) for event in exits} == {("recycled", 0)}
        assert pool.stats()["failed"] == 0


def test_nobody_waits_for_the_shutdown_hook_of_a_worker_that_is_replaced() -> None:
    with Pool(python=FAULTS, workers=1, max_calls=1, env={"LEAVE_SECONDS": "3600"}, stop_timeout=2) as pool:
        exits: list[Any] = []
        pool.on("worker:exit", exits.append)
        before = set[int]()
        while not exits:
            before.add(pool.call("pid"))
        # The next one served while the first still tried to leave, until it was ended.
        assert len(before) >= 2
        assert (exits[0]["reason"], exits[0]["signal"]) == ("recycled", "SIGKILL")
        pool.terminate()


def test_figures_and_seats_survive_the_workers_that_made_them() -> None:
    with Pool(python=FAULTS, workers=1, max_calls=2, max_replacing=1) as pool:
        exits: list[Any] = []
        pool.on("worker:exit", exits.append)
        seen: list[Any] = []
        while len(exits) < 5:
            seen.append(pool.call("where"))
        stats = pool.stats()
        assert stats["completed"] == len(seen)
        by_name = {function["fn"]: function for function in stats["functions"]}
        assert by_name["where"]["completed"] == len(seen)
        # A seat, and those beside it while workers are replaced: no number for each process that ever was.
        assert {index for index, _ in seen} <= {0, 1, 2}
        assert {event["pid"] for event in exits} <= {pid for _, pid in seen}
