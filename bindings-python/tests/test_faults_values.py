"""Faults of other pools with values: one odd result or error wedges the reader of all, or tells nothing."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
from pathlib import Path
from typing import Any

import pytest

import importable
import support
from ganger import CallFailed, InvalidInput, InvalidResult, Pool, ProcessPool, RemoteError

FAULTS = support.FAULTS


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("function", "$.deep[1]"),
        ("file", "$.log"),
        ("class", "$[0]"),
        ("too large an integer", "$.n"),
        ("cycle", None),
        ("generator", None),
    ],
)
def test_an_odd_result_fails_its_call_with_its_place_and_nothing_else(kind: str, path: str | None) -> None:
    with Pool(python=FAULTS, workers=1) as pool:
        pid = pool.call("pid")
        with pytest.raises(InvalidResult) as caught:
            pool.call("odd_result", kind)
        if path is not None:
            assert caught.value.details["path"] == path
        assert pool.call("pid") == pid


def test_numbers_that_others_lose_come_back_as_they_went(shared_pool: Pool) -> None:
    for value in (2**60, float("inf"), b"\x00\xff"):
        assert shared_pool.call("echo", {"value": [value]}) == [value]
    back = shared_pool.call("echo", {"value": float("nan")})
    assert back != back


def test_an_error_that_holds_itself_keeps_its_message() -> None:
    with (
        Pool(python=FAULTS, workers=1) as pool,
        pytest.raises(CallFailed, match="the message stays") as caught,
    ):
        pool.call("fail_with_a_cycle")
    cause = caught.value.__cause__
    assert isinstance(cause, RemoteError)
    assert (cause.type, cause.properties["number"]) == ("ValueError", 7)
    assert "me" in cause.dropped


@pytest.mark.parametrize("how", ["reduce raises", "reading raises", "reading exits", "reading needs more"])
def test_an_exception_that_cannot_be_pickled_or_read_costs_its_own_call(how: str) -> None:
    with ProcessPool(1) as processes:
        pid = processes.submit(importable.own_pid).result(support.LIMIT_S)
        with pytest.raises(CallFailed, match="hostile"):
            processes.submit(importable.fail_hostilely, how).result(support.LIMIT_S)
        assert processes.submit(importable.own_pid).result(support.LIMIT_S) == pid


@pytest.mark.parametrize("asks", ["waits", "calls back", "awaits", "takes"])
def test_a_result_that_ends_whoever_reads_it_settles_its_call_however_it_is_asked_for(asks: str) -> None:
    with ProcessPool(1) as processes:
        future: Any = processes.submit(importable.ends_its_reader)
        beside = [processes.submit(abs, -n) for n in range(10)]
        if asks == "waits":
            assert concurrent.futures.wait([future, *beside], support.LIMIT_S).not_done == set()
        elif asks == "calls back":
            told: list[object] = []
            future.add_done_callback(told.append)
            support.eventually(lambda: told == [future])
        elif asks == "awaits":

            async def wait_for_it() -> None:
                with pytest.raises(InvalidResult, match="unpickled"):
                    await asyncio.wait_for(future, support.LIMIT_S)

            asyncio.run(wait_for_it())
        with pytest.raises(InvalidResult, match="unpickled"):
            future.result(support.LIMIT_S)
        assert [one.result(support.LIMIT_S) for one in beside] == list(range(10))


def test_functions_that_cannot_be_sent_are_refused_where_they_are_submitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    processes = ProcessPool(1)
    for _ in range(10):
        with pytest.raises(InvalidInput, match="cloudpickle"):
            processes.submit(lambda: 1)
    assert processes.submit(abs, -1).result(support.LIMIT_S) == 1
    processes.shutdown(cancel_futures=True)


def test_large_answers_arrive_though_their_workers_leave_right_after(tmp_path: Path) -> None:
    left = tmp_path / "left"
    with Pool(python=FAULTS, workers=2, max_calls=1, env={"LEFT": str(left)}) as pool:
        support.eventually(
            lambda: answers_whole(pool) and left.exists() and left.read_text().count("left") >= 4
        )
        assert pool.stats()["failed"] == 0


def answers_whole(pool: Pool) -> bool:
    futures: list[Any] = [pool.submit("many_bytes", 1 << 20) for _ in range(4)]
    for future in futures:
        answer = future.result(support.LIMIT_S)
        assert len(answer) == 1 << 20
        assert answer.count(b"z") == 1 << 20
    return True
