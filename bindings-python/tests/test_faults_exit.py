"""Faults of other pools at the end: what lives on, what never returns, what was never written."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import support
from ganger import Pool, PoolClosed

FAULTS = support.FAULTS


def test_a_worker_that_is_deep_in_c_does_not_outlive_a_killed_host() -> None:
    app = support.App(
        """
        pool = Pool(python=sys.argv[2], workers=2)
        pool.warm()
        busy = pool.submit("sleep_in_c", 1000)
        while not busy.running(): time.sleep(0.01)
        say(*[worker["pid"] for worker in pool.stats()["details"]])
        busy.result()
        """,
        FAULTS,
    )
    pids = [int(pid) for pid in app.line().split()]
    assert len(pids) == 2
    os.kill(app.process.pid, signal.SIGKILL)
    app.ended()
    for pid in pids:
        support.eventually(lambda: not support.alive(pid), f"{pid} is gone")  # noqa: B023


def test_an_end_is_no_longer_than_allowed_though_a_worker_is_deep_in_c() -> None:
    exits: list[Any] = []
    pool = Pool(python=FAULTS, workers=1)
    pool.on("worker:exit", exits.append)
    stuck = pool.submit("sleep_in_c", 1000)
    support.eventually(stuck.running)
    pool.close(timeout=0.2)
    error = stuck.exception(support.LIMIT_S)
    assert isinstance(error, PoolClosed)
    support.eventually(lambda: exits)
    # Its call was settled before.
    assert (exits[0]["signal"], exits[0]["reason"], exits[0]["running"]) == ("SIGKILL", "shutdown", 0)


def test_terminate_ends_a_worker_that_hears_nobody_once_its_call_is_settled(tmp_path: Path) -> None:
    exits: list[Any] = []
    pool = Pool(python=FAULTS, workers=1)
    pool.on("worker:exit", exits.append)
    running = pool.submit("never_end", str(tmp_path / "path"))
    support.eventually((tmp_path / "path.begun").exists)
    waiting = pool.submit("echo", 1)
    pool.terminate()
    ends = [future.exception(support.LIMIT_S) for future in (running, waiting)]
    assert [(type(error), getattr(error, "started", None)) for error in ends] == [
        (PoolClosed, "maybe"),
        (PoolClosed, "no"),
    ]
    assert (exits[0]["signal"], exits[0]["reason"], exits[0]["running"]) == ("SIGKILL", "shutdown", 0)


def test_what_hooks_and_exit_handlers_write_is_there_after_close(tmp_path: Path) -> None:
    left, atexit = tmp_path / "left", tmp_path / "atexit"
    with Pool(python=FAULTS, workers=1, env={"LEFT": str(left), "LEAVE_SECONDS": "0.3"}) as pool:
        pool.call("note_at_exit", str(atexit))
    assert left.read_text() == "left\n"
    assert atexit.exists()
