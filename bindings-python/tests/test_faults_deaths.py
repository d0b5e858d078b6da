"""Faults of other pools when workers die: the whole pool breaks, calls hang, or nobody says why."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import CallFailed, Pool, StartFailed, WorkerCrashed

FAULTS = support.FAULTS


def test_a_death_spares_neighbours_that_run_and_calls_that_wait(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=FAULTS, workers=2) as pool:
        beside = pool.submit("wait_for_file", str(gate))
        support.eventually(Path(f"{gate}.begun").exists)
        dying = pool.submit("die", "SIGKILL")
        waiting = [pool.submit("echo", n) for n in range(4)]
        error = dying.exception(support.LIMIT_S)
        assert isinstance(error, WorkerCrashed)
        assert (error.signal, error.function) == ("SIGKILL", "die")
        assert str(error.pid) in str(error)
        assert [future.result(support.LIMIT_S) for future in waiting] == [0, 1, 2, 3]
        assert not beside.done()
        gate.touch()
        assert beside.result(support.LIMIT_S) != error.pid
        assert pool.call("echo", "next") == "next"


def test_each_lost_call_has_an_error_of_its_own(tmp_path: Path) -> None:
    gates = [str(tmp_path / f"gate-{n}") for n in range(3)]
    with Pool(python=FAULTS, workers=1, concurrency=4) as pool:
        lost = [pool.submit("wait_for_file", gate) for gate in gates]
        support.eventually(lambda: all(Path(f"{gate}.begun").exists() for gate in gates))
        lost.append(pool.submit("die", "SIGKILL"))
        errors = [future.exception(support.LIMIT_S) for future in lost]
        assert all(isinstance(error, WorkerCrashed) for error in errors)
        assert len({id(error) for error in errors}) == 4
        untouched = traceback.format_exception(errors[1])
        for _ in range(3):
            with pytest.raises(WorkerCrashed):
                lost[0].result()
        assert traceback.format_exception(errors[1]) == untouched


def test_a_map_whose_worker_is_killed_raises_instead_of_hanging(tmp_path: Path) -> None:
    gates = [str(tmp_path / f"gate-{n}") for n in range(5)]
    with Pool(python=FAULTS, workers=2) as pool:
        results = iter(pool.map("wait_for_file", gates))
        # A map begins with the first result that is asked for.
        Path(gates[0]).touch()
        killed = next(results)
        support.eventually(lambda: any(Path(f"{gate}.begun").exists() for gate in gates[1:]))
        kill_all(pool)
        with pytest.raises(WorkerCrashed):
            list(results)
        assert killed
        assert pool.call("echo", 1) == 1


def kill_all(pool: Pool) -> None:
    for worker in pool.stats()["details"]:
        if worker["pid"]:
            os.kill(worker["pid"], signal.SIGKILL)


def by_exit(pool: Pool) -> None:
    pool.call("die", "exit")


def by_signal(pool: Pool) -> None:
    pool.call("die", "SIGSEGV")


def by_silence(pool: Pool) -> None:
    os.kill(pool.call("pid"), signal.SIGSTOP)


def by_cancel(pool: Pool) -> None:
    pool.call("sleep_in_c", 1000, timeout=0.1)


@pytest.mark.parametrize(
    ("ended", "options", "reason", "cause"),
    [
        (by_exit, {}, "crash", "exit"),
        (by_signal, {}, "crash", "signal"),
        (by_silence, {"health_interval": 0.1, "health_timeout": 0.3}, "unresponsive", "unresponsive"),
        (by_cancel, {"cancel_grace": 0.1}, "crash", "cancel-kill"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_cause_of_a_death_is_told_apart(
    ended: Callable[[Pool], None], options: Any, reason: str, cause: str
) -> None:
    exits: list[Any] = []
    with Pool(python=FAULTS, workers=1, **options) as pool:
        pool.on("worker:exit", exits.append)
        try:
            ended(pool)
        except (WorkerCrashed, TimeoutError):
            pass
        support.eventually(lambda: exits)
        assert (exits[0]["reason"], exits[0]["cause"]) == (reason, cause)
        assert pool.call("echo", 1) == 1


def test_a_call_that_eats_the_memory_it_may_have_fails_alone_and_says_so() -> None:
    with Pool(python=FAULTS, workers=1, memory_limit="400mb") as pool:
        with pytest.raises((CallFailed, WorkerCrashed), match=r"(?i)memory"):
            pool.call("grow_for_ever")
        assert pool.call("echo", 1) == 1


def test_a_pool_that_can_start_no_worker_any_more_fails_its_calls_and_heals(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    with Pool(python=FAULTS, workers=1, env={"NO_START": str(flag)}) as pool:
        pid = pool.call("pid")
        flag.touch()
        os.kill(pid, signal.SIGKILL)
        support.eventually(lambda: pool.stats()["ready"] == 0)
        with pytest.raises(StartFailed, match="not while the file is there"):
            pool.call("pid", timeout=support.LIMIT_S)
        assert pool.stats()["ready"] == 0
        flag.unlink()
        assert support.eventually(lambda: healed(pool)) != pid


def healed(pool: Pool) -> object:
    try:
        return pool.call("pid")
    except StartFailed:
        return None


def test_workers_that_are_all_lost_at_once_come_back_for_what_waits(tmp_path: Path) -> None:
    gates = [str(tmp_path / f"gate-{n}") for n in range(3)]
    with Pool(python=FAULTS, workers=3) as pool:
        running = [pool.submit("wait_for_file", gate) for gate in gates]
        support.eventually(lambda: all(Path(f"{gate}.begun").exists() for gate in gates))
        waiting = [pool.submit("echo", n) for n in range(20)]
        kill_all(pool)
        assert all(isinstance(future.exception(support.LIMIT_S), WorkerCrashed) for future in running)
        assert [future.result(support.LIMIT_S) for future in waiting] == list(range(20))
        stats = pool.stats()
        assert (stats["queued"], stats["crashed"]) == (0, 3)
