"""Bombs, floods and bad starts: each costs what it must and no more."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from ganger import CallFailed, Pool, StartFailed, WorkerCrashed

import lookout

ROUNDS = 10 if lookout.LONG else 2
MB = 1_000_000
kinds = pytest.mark.parametrize("kind", lookout.OWN_KIND)


@kinds
def test_a_memory_bomb_costs_its_own_call_only(kind: str) -> None:
    with Pool(**lookout.KINDS[kind], workers=1, memory_limit="700mb") as pool:
        for _ in range(ROUNDS):
            bomb = pool.submit("bomb")
            others = [pool.submit("size", "abc") for _ in range(5)]
            error = bomb.exception(lookout.LIMIT_S)
            # A worker may catch what the system refuses it, or die of it.
            assert isinstance(error, CallFailed | WorkerCrashed), error
            assert [future.result(lookout.LIMIT_S) for future in others] == [3] * 5
        lookout.assert_added_up(pool, {"ok": 5 * ROUNDS, "failed": ROUNDS})


@kinds
def test_a_worker_that_dies_while_it_is_sent_a_lot_takes_no_call_with_it(kind: str) -> None:
    data = b"z" * (50 * MB)
    with Pool(**lookout.KINDS[kind], workers=1) as pool:
        for _ in range(ROUNDS):
            assert pool.call("size", b"") == 0
            [pid] = lookout.ready_pids(pool)
            # It stops reading, so that the lane fills up; then it dies.
            os.kill(pid, signal.SIGSTOP)
            sent = pool.submit("size", data)
            waiting = [pool.submit("size", data[: 10 * MB]), pool.submit("size", b"abc")]
            lookout.eventually(lambda: pool.stats()["running"] == 1, "it is being sent")
            os.kill(pid, signal.SIGKILL)
            # None can have begun: the worker never had a whole one.
            assert [future.result(lookout.LIMIT_S) for future in (sent, *waiting)] == [50 * MB, 10 * MB, 3]


@pytest.mark.skipif(not lookout.LONG, reason="it takes 8 GB of memory and a minute")
@kinds
def test_what_is_larger_than_2_gib_crosses_in_both_directions(kind: str) -> None:
    count = 2500 * MB
    with Pool(**lookout.KINDS[kind], workers=1, max_queue_bytes="8gb") as pool:
        assert pool.call("size", b"z" * count) == count
        assert len(pool.call("bytes_of", count)) == count
        assert pool.stats()["crashed"] == 0


@kinds
def test_ten_megabytes_without_a_line_end_block_nobody_and_are_not_kept(kind: str) -> None:
    longest = [0]
    with Pool(**lookout.KINDS[kind], workers=1) as pool:
        pool.on("worker:log", lambda event: longest.append(len(event["message"])))
        assert pool.call("size", "abc") == 3
        before = lookout.resident()
        for _ in range(ROUNDS):
            assert pool.call("shout", 10 * MB) == 10 * MB
            with pytest.raises(WorkerCrashed) as caught:
                pool.call("shout_and_crash", 10 * MB)
            assert caught.value.exit_code == 3
            tail = (caught.value.worker or {})["stderr_tail"]
            assert 0 < len(tail) <= 64 * 1024
            assert set(tail) <= {"y", "\n"}
        assert max(longest) <= 1 << 20
        assert lookout.resident() - before < 64 << 20


@kinds
def test_who_starts_slowly_is_waited_for_and_who_starts_too_slowly_is_told(kind: str) -> None:
    slow = {"START_SECONDS": "1"}
    with Pool(**lookout.KINDS[kind], workers=2, env=slow) as pool:
        assert [future.result(lookout.LIMIT_S) for future in [pool.submit("size", "ab")] * 4] == [2] * 4
    with Pool(**lookout.KINDS[kind], workers=2, env={"START_SECONDS": "50"}, start_timeout="500ms") as pool:
        error = pool.submit("size", "ab").exception(lookout.LIMIT_S)
        assert isinstance(error, StartFailed)
        pool.terminate()


@kinds
def test_a_pool_whose_workers_cannot_start_fails_calls_and_heals_with_the_cause(
    kind: str, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    with Pool(**lookout.KINDS[kind], workers=2, env={"NO_START": str(flag)}) as pool:
        errors = [future.exception(lookout.LIMIT_S) for future in [pool.submit("size", "") for _ in range(6)]]
        assert all(isinstance(error, StartFailed) for error in errors), errors
        assert "not while the file is there" in str(errors[0])
        flag.unlink()
        lookout.eventually(lambda: lookout.end(pool.submit("size", "")) == "ok", "it heals")


@kinds
def test_a_pool_may_be_ended_in_the_middle_of_everything(kind: str, tmp_path: Path) -> None:
    dice = lookout.dice()
    for number in range(ROUNDS * 3):
        marks = tmp_path / f"marks-{number}"
        options: dict[str, Any] = {"workers": 2, "env": {"MARKS": str(marks)}, "cancel_grace": "50ms"}
        pool = Pool(**lookout.KINDS[kind], **options)
        deeds = [dice.choice(["echo", "work", "hang", "spin", "crash"]) for _ in range(20)]
        inputs = [
            {"mark": f"m{index}", **({"seconds": 0.01} if deed == "work" else {})}
            for index, deed in enumerate(deeds)
        ]
        futures = [pool.submit(deed, given) for deed, given in zip(deeds, inputs, strict=True)]
        ender = threading.Timer(dice.uniform(0, 0.4), pool.terminate)
        ender.start()
        ends = [lookout.end(future) for future in futures]
        ender.join()
        assert set(ends) <= {"ok", "POOL_CLOSED", "WORKER_CRASHED"}, ends
        assert max(lookout.starts(marks).values(), default=0) <= 1
