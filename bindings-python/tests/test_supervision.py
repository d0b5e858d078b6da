"""Workers that are replaced before they hurt, and those that must not be."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import Pool, StartFailed, WorkerCrashed

LONG = os.environ.get("GANGER_CHAOS") == "long"


def slowest(act: Callable[[], object], until: Callable[[], bool], threads: int) -> float:
    """Calls on so many threads until the condition holds; the longest that one call took, in seconds."""
    took: list[float] = []
    failed: list[BaseException] = []
    give_up = time.monotonic() + support.LIMIT_S

    def work() -> None:
        try:
            while not until():
                assert time.monotonic() < give_up, "it did not come true"
                begun = time.monotonic()
                act()
                took.append(time.monotonic() - begun)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    # Not asked once more: beside an old worker it may be true of one call and not of the next.
    assert failed == []
    return max(took)


def test_a_busy_worker_is_never_asked_whether_it_lives() -> None:
    # It is silent for many times as long as an idle one may be.
    seconds, health = (60, 1) if LONG else (2, 0.1)
    with Pool(python=support.BASICS, workers=1, health_interval=health, health_timeout=health) as pool:
        before = pool.call("pid")
        assert pool.call("hold_the_interpreter", seconds) == before
        assert pool.call("pid") == before
        assert pool.stats()["unresponsive"] == 0


def test_an_idle_worker_that_does_not_answer_is_replaced() -> None:
    told: list[Any] = []
    with Pool(python=support.BASICS, workers=1, health_interval=0.2, health_timeout=0.5) as pool:
        pool.on("worker:unresponsive", told.append)
        before = pool.call("pid")
        os.kill(before, signal.SIGSTOP)
        stopped = time.monotonic()
        support.eventually(lambda: told and not support.alive(before))
        print(f"found after {time.monotonic() - stopped:.2f} s")
        assert told[0]["pid"] == before
        assert pool.call("pid") != before
        assert pool.stats()["unresponsive"] == 1


@pytest.mark.parametrize(("options", "attempts"), [({"idempotent": True, "retries": 2}, 3), ({}, 1)])
def test_a_call_that_kills_its_workers_costs_no_more_than_was_allowed(
    options: Any, attempts: int, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    with Pool(python=support.BASICS, workers=2) as pool:
        with pytest.raises(WorkerCrashed) as caught:
            pool.call("note_and_die", str(note), **options)
        assert caught.value.attempts == attempts
        pids = note.read_text().split()
        assert len(set(pids)) == len(pids) == attempts
        assert pool.call("add", {"a": 1}) == 2
        support.eventually(lambda: pool.stats()["crashed"] == attempts)


def test_idle_workers_are_killed_ten_times_and_nobody_notices() -> None:
    with Pool(python=support.BASICS, workers=3) as pool:
        for killed in range(1, 11):
            pool.warm(timeout=support.LIMIT_S)
            victim = random.choice([worker["pid"] for worker in pool.stats()["details"] if worker["pid"]])
            os.kill(victim, signal.SIGKILL)
            support.eventually(lambda: pool.stats()["crashed"] == killed)  # noqa: B023
            futures = [pool.submit("add", {"a": n}) for n in range(8)]
            assert [future.result(support.LIMIT_S) for future in futures] == list(range(1, 9))


def test_chaos_costs_calls_but_never_the_pool() -> None:
    payload = os.urandom(300_000)
    ends: dict[str, int] = {"done": 0, "lost": 0}
    killed: set[int] = set()
    unnamed: list[WorkerCrashed] = []
    stop = time.monotonic() + 2

    def work(pool: Pool) -> None:
        while time.monotonic() < stop:
            try:
                assert pool.call("echo", payload) == payload
                ends["done"] += 1
            except WorkerCrashed as error:
                ends["lost"] += 1
                if error.signal != "SIGKILL" or error.pid not in killed:
                    unnamed.append(error)
            except StartFailed:
                time.sleep(0.01)

    with Pool(python=support.BASICS, workers=4) as pool:
        pool.warm()
        threads = [threading.Thread(target=work, args=(pool,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        while time.monotonic() < stop:
            pids = [worker["pid"] for worker in pool.stats()["details"] if worker["pid"]]
            if pids:
                killed.add(pid := random.choice(pids))
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.03)
        for thread in threads:
            thread.join(support.LIMIT_S)
            assert not thread.is_alive()
        # A call that no dead worker had begun went to another, so that none may be lost.
        assert pool.stats()["crashed"] > 0
        assert unnamed == [], "every lost call names the worker that died and how"
        support.eventually(lambda: works(pool), "it works again")
        stats = pool.stats()
        assert (stats["busy"], stats["queued"]) == (0, 0)


def works(pool: Pool) -> bool:
    try:
        return bool(pool.call("add", {"a": 1}) == 2)
    except (WorkerCrashed, StartFailed):
        return False


def test_two_thousand_changed_files_are_one_change_and_lose_no_call(tmp_path: Path) -> None:
    code = tmp_path / "workers"
    code.mkdir()
    write_version(code / "prices.py", "1")
    for n in range(2000):
        (code / f"data{n}.json").touch()
    reloads: list[Any] = []
    with Pool(python=str(code), workers=2, watch=True) as pool:
        pool.on("reload", reloads.append)
        assert pool.call("prices.version") == 1
        begun = time.monotonic()
        write_version(code / "prices.py", "20")
        for n in range(2000):
            (code / f"data{n}.json").write_text("{}")
        pauses = int((time.monotonic() - begun) / 0.2)
        slowest(lambda: pool.call("prices.version"), lambda: pool.call("prices.version") == 20, 4)
        support.eventually(lambda: pool.stats()["recycled"]["reload"] >= 1)
        # A machine that stalls while they are written makes them more than one change.
        assert 1 <= len(reloads) <= 2 + pauses
        assert pool.stats()["failed"] == 0


def test_code_that_cannot_start_keeps_the_old_workers(tmp_path: Path) -> None:
    file = tmp_path / "prices.py"
    write_version(file, "1")
    with Pool(python=str(file), workers=1, watch=True) as pool:
        before = pool.call("version")
        exits: list[Any] = []
        pool.on("worker:exit", exits.append)
        write_version(file, "1 +")
        support.eventually(lambda: exits)
        assert exits[0]["reason"] == "start-failed"
        assert pool.call("version") == before == 1


def write_version(file: Path, version: str) -> None:
    """Each of another length: Python takes a file of the same second and size for the one it has compiled."""
    file.write_text(f"from ganger_worker import action\n\n@action\ndef version():\n    return {version}\n")


def test_a_worker_without_calls_is_stopped_and_comes_back() -> None:
    with Pool(python=support.BASICS, workers=2, idle_timeout=0.2) as pool:
        pool.warm()
        support.eventually(lambda: pool.stats()["workers"] == 0)
        assert pool.call("add", {"a": 1}) == 2


def test_devices_and_affinity_reach_the_workers() -> None:
    with Pool(python=support.BASICS, workers=2, devices=["left", "right"]) as pool:
        pool.warm()
        answers = pool.broadcast("environment", "GANGER_DEVICE")
        assert sorted(answer.result() for answer in answers) == ["left", "right"]
        served = [pool.call("pid", affinity="a customer") for _ in range(10)]
        assert len(list(itertools.groupby(served))) == 1
