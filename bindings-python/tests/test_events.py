"""Listening to a pool."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import os
import signal
import weakref
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import EVENT_NAMES, EventName, InvalidOption, Pool, WorkerCrashed


def test_a_workers_life_is_told() -> None:
    told: list[tuple[str, Any]] = []
    pool = Pool(python=support.BASICS, workers=1, name="lives")
    pool.on("worker:start", lambda data: told.append(("start", data)))
    pool.on("worker:ready", lambda data: told.append(("ready", data)))
    pool.on("worker:exit", lambda data: told.append(("exit", data)))
    pid = pool.call("pid")
    pool.close()
    assert [name for name, _ in told] == ["start", "ready", "exit"]
    assert all(data["pool"] == "lives" and data["pid"] == pid for _, data in told)
    exit = told[-1][1]
    assert (exit["code"], exit["signal"], exit["reason"], exit["cause"]) == (0, None, "shutdown", "close")
    assert exit["calls"] == 1


def test_a_crash_and_a_retry_are_told(pool: Pool, tmp_path: Path) -> None:
    exits: list[Any] = []
    retries: list[Any] = []
    pool.on("worker:exit", exits.append)
    pool.on("call:retry", retries.append)
    with pytest.raises(WorkerCrashed):
        pool.call("die", "SIGKILL")
    assert pool.call("die_once", str(tmp_path / "died"), idempotent=True) == "survived"
    support.eventually(lambda: len(exits) == 2 and len(retries) == 1)
    assert (exits[0]["signal"], exits[0]["reason"], exits[0]["running"]) == ("SIGKILL", "crash", 1)
    assert (retries[0]["fn"], retries[0]["attempt"], retries[0]["retries"]) == ("die_once", 1, 1)


def test_what_happens_to_a_worker_is_told_with_all_that_is_known_of_it() -> None:
    fields: dict[EventName, dict[str, type]] = {
        "worker:ready": {"pid": int, "started_in": float},
        "worker:exit": {"pid": int, "signal": str, "running": int, "calls": int, "reason": str},
        "call:retry": {"fn": str, "attempt": int, "retries": int, "pid": int},
        "reload": {"files": list, "replaced": int},
        "worker:recycle": {"pid": int, "reason": str, "memory": int, "calls": int},
        "worker:unresponsive": {"pid": int, "timeout": int},
    }
    assert fields.keys() <= set(EVENT_NAMES)
    seen: dict[str, Any] = {}
    with Pool(
        python=support.BASICS, workers=1, name="lives", health_interval=0.1, health_timeout=0.3
    ) as pool:
        for name in fields:
            pool.on(name, functools.partial(seen.setdefault, name))
        with pytest.raises(WorkerCrashed):
            pool.call("die", "SIGKILL", idempotent=True, retries=1)
        before = pool.call("pid")
        pool.reload()
        support.eventually(lambda: pool.call("pid") != before)
        os.kill(pool.call("pid"), signal.SIGSTOP)
        support.eventually(lambda: seen.keys() == fields.keys())
    for name, kinds in fields.items():
        assert seen[name]["pool"] == "lives"
        assert {field: type(seen[name][field]) for field in kinds} == kinds, name
    assert seen["worker:exit"]["code"] is None


def test_what_workers_print_and_log_is_told(pool: Pool) -> None:
    lines: list[Any] = []
    pool.on("worker:log", lines.append)
    pool.call("say", "printed")
    pool.call("log", "logged")
    support.eventually(lambda: len(lines) == 2)
    by_source = {line["source"]: line for line in lines}
    assert by_source["stdout"]["message"] == "printed"
    assert (by_source["log"]["message"], by_source["log"]["level"]) == ("logged", "warning")
    assert by_source["log"]["fn"] == "log"


def test_a_full_queue_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1, max_queue=1) as pool:
        pool.on("queue:full", lambda data: told.append(f"full {data['queued']}"))
        pool.on("queue:drain", lambda _: told.append("drain"))
        futures = [pool.submit("wait_for_file", str(gate))]
        support.eventually(futures[0].running)
        futures += [pool.submit("nothing") for _ in range(3)]
        gate.touch()
        support.eventually(lambda: told == ["full 1", "drain"])


def test_a_listener_that_raises_is_logged_and_disturbs_nobody(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Any] = []

    def bad(_: Any) -> None:
        raise RuntimeError("a listener's own fault")

    pool.on("worker:ready", bad)
    pool.on("worker:ready", told.append)
    with caplog.at_level(logging.WARNING, "ganger"):
        pool.call("nothing")
        support.eventually(lambda: told)
    assert "a listener of worker:ready failed" in caplog.text
    assert "a listener's own fault" in caplog.text


def test_a_listener_may_call_the_pool_and_close_it() -> None:
    told: list[Any] = []
    pool = Pool(python=support.BASICS, workers=1)

    def ready(_: Any) -> None:
        told.append(pool.call("add", {"a": 1}))
        pool.close()
        told.append("closed")

    pool.on("worker:ready", ready)
    pool.submit("nothing")
    assert support.eventually(lambda: told[1:] and told) == [2, "closed"]


def test_who_is_off_hears_no_more(pool: Pool) -> None:
    told: list[Any] = []
    pool.on("worker:log", told.append)
    assert pool.off("worker:log", told.append)
    assert not pool.off("worker:log", told.append)
    others: list[Any] = []
    pool.on("worker:log", others.append)
    pool.call("say", "something")
    support.eventually(lambda: others)
    assert told == []


def test_an_unknown_event_is_refused(pool: Pool) -> None:
    with pytest.raises(InvalidOption, match="worker:redy"):
        pool.on("worker:redy", print)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_listener_that_holds_its_pool_does_not_keep_it() -> None:
    def leave_behind() -> weakref.ref[Pool]:
        pool = Pool(python=support.BASICS, workers=1)
        pool.on("worker:exit", lambda _: pool.stats())
        pool.close()
        return weakref.ref(pool)

    gone = leave_behind()
    gc.collect()
    assert gone() is None


def test_who_closes_without_blocking_has_heard_of_everything_too() -> None:
    told: list[str] = []

    async def main() -> None:
        async with Pool(python=support.BASICS, workers=2) as pool:
            pool.on("worker:exit", lambda data: told.append(data["reason"]))
            await asyncio.gather(*[pool.submit("interval", 0.2) for _ in range(4)])
        assert told == ["shutdown"] * 2

    asyncio.run(main())
