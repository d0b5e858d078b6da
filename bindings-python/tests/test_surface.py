"""What a pool can be asked and told beside calls."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import CallFailed, Pool, PoolClosed, StartFailed, WorkerCrashed, WorkerOutcome

VERSION = """
import os
from ganger_worker import action

@action
def version():
    return [{}, os.getpid()]
"""


def test_warm_starts_workers_ahead() -> None:
    with Pool(python=support.BASICS, workers=3) as pool:
        pool.warm(1)
        assert pool.stats()["ready"] >= 1
        pool.warm()
        assert pool.stats()["ready"] == 3
        pool.warm(100)
        with pytest.raises(ValueError, match="-1"):
            pool.warm(-1)


def test_warm_says_why_workers_cannot_start_and_when_it_takes_too_long(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import nothing_of_this_name\n")
    with (
        Pool(python=str(broken), workers=1) as pool,
        pytest.raises(StartFailed, match="nothing_of_this_name"),
    ):
        pool.warm()
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(1000)\n")
    with pytest.raises(TimeoutError, match=r"'slow' is not warm after 0\.1"), Pool(python=str(slow)) as pool:
        pool.warm(1, timeout=0.1)


def test_a_flight_record_tells_what_the_pool_heard_and_nothing_of_what_its_calls_are_about() -> None:
    with Pool(python=support.BASICS, workers=1) as pool:
        assert re.match(r"ganger-flight-record 1\nconfig workers=1 .*\nlost 0\n", pool.flight_record())
        assert pool.call("echo", "a secret") == "a secret"
        with pytest.raises(WorkerCrashed):
            pool.call("die", "SIGKILL", idempotent=True, retries=1)
        record = pool.flight_record()
    for part in (r" submit 1 ", r" ready 0\.0\n", r" submit 2 .*idempotent", r" exited 0\.1 signal:9\n"):
        assert re.search(part, record), f"{part} in {record}"
    assert re.search(r"\ncounted submitted=2 answered=1 failed=1 .*retried=1", record), record
    assert not re.search("echo|secret|die", record)


def test_drained_and_ready_are_levels(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1, max_queue=1) as pool:
        pool.ready()
        pool.drained()
        running = pool.submit("wait_for_file", str(gate))
        support.eventually(running.running)
        waiting = pool.submit("nothing")
        with pytest.raises(TimeoutError, match="not ready"):
            pool.ready(timeout=0.05)
        with pytest.raises(TimeoutError, match="not drained"):
            pool.drained(timeout="50ms")
        gate.touch()
        pool.ready()
        pool.drained()
        assert (running.done(), waiting.done()) == (True, True)
    with pytest.raises(PoolClosed):
        pool.ready()
    with pytest.raises(PoolClosed):
        pool.warm()


def test_the_same_can_be_awaited(tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def main() -> None:
        async with Pool(python=support.BASICS, workers=1, max_queue=1) as pool:
            await pool.awarm()
            assert pool.stats()["ready"] == 1
            futures = [pool.submit("wait_for_file", str(gate)), pool.submit("nothing")]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(pool.adrained(), 0.05)
            waits = asyncio.gather(pool.aready(), pool.adrained(), pool.abroadcast("add", {"a": 1}))
            await asyncio.sleep(0)
            gate.touch()
            assert (await waits)[2] == [WorkerOutcome(0, 2, None)]
            assert all(future.done() for future in futures)

    asyncio.run(main())


def test_a_broadcast_reaches_every_worker_and_gathers_errors() -> None:
    with Pool(python=support.BASICS, workers=3) as pool:
        assert pool.broadcast("where") == []
        pool.warm()
        answers = pool.broadcast("where")
        assert [answer.worker for answer in answers] == [0, 1, 2]
        assert [answer.result()[0] for answer in answers] == [0, 1, 2]
        assert len({answer.value[1] for answer in answers}) == 3
        even, odd, _ = pool.broadcast("odd_worker_fails", timeout=10)
        assert (even.value, even.error) == (0, None)
        assert isinstance(odd.error, CallFailed)
        with pytest.raises(CallFailed, match="worker 1"):
            odd.result()


def test_a_reload_replaces_every_worker_and_loses_no_call(tmp_path: Path) -> None:
    code = tmp_path / "prices.py"
    code.write_text(VERSION.format(1))
    told: list[Any] = []
    with Pool(python=str(code), workers=2) as pool:
        pool.on("reload", told.append)
        pool.warm()
        before = {answer.result()[1] for answer in pool.broadcast("version")}
        code.write_text(VERSION.format(2))
        pool.reload()
        support.eventually(lambda: pool.stats()["recycled"]["reload"] == 2 and pool.call("version")[0] == 2)
        support.eventually(lambda: pool.stats()["ready"] == pool.stats()["workers"] == 2)
        assert not before & {answer.result()[1] for answer in pool.broadcast("version")}
        assert [event["replaced"] for event in told] == [2]
        assert pool.stats()["failed"] == 0
    with pytest.raises(PoolClosed):
        pool.reload()
