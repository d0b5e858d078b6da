"""What a pool can be asked for."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

import ganger
import support
from ganger import CallFuture, InvalidOption, NoSuchFunction, Pool, PoolClosed, QueueFull


def test_a_call_returns_the_functions_value(shared_pool: Pool) -> None:
    assert shared_pool.call("add", {"a": 2, "b": 3}) == 5
    assert shared_pool.call("basics.add", {"a": 2}) == 3
    assert shared_pool.call("nothing") is None


def test_options_of_a_call_reach_it(shared_pool: Pool) -> None:
    assert shared_pool.call("trace", trace={"traceparent": "00-1"}) == {"traceparent": "00-1"}
    assert (
        shared_pool.call("add", {"a": 1}, timeout=dt.timedelta(seconds=20), priority=3, idempotent=True) == 2
    )
    assert shared_pool.submit("add", {"a": 1}, timeout="1m30s", deadline="never").result() == 2


def test_options_of_a_pool_reach_its_workers(tmp_path: Path) -> None:
    options: dict[str, Any] = {"env": {"OWN_VARIABLE": "x", "HOME": None}, "cwd": tmp_path, "name": "named"}
    with Pool(python=Path(support.BASICS), workers=1, **options) as pool:
        assert pool.call("environment", "OWN_VARIABLE") == "x"
        assert pool.call("environment", "HOME") is None
        assert pool.call("environment", "GANGER_DATA_FD") is None
        assert (pool.name, repr(pool)) == ("named", "<ganger.Pool 'named' open>")
    assert repr(pool) == "<ganger.Pool 'named' closed>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs one of"),
        ({"python": "x", "node": "y"}, "exclude each other"),
        ({"python": "x", "worker": 2}, 'did you mean "workers"'),
        ({"python": "x", "workers": "two"}, "must be a whole number"),
        ({"python": "x", "workers": 1.0}, "must be a whole number"),
        ({"python": "x", "timeout": -1}, "must be seconds"),
        ({"python": "x", "timeout": float("nan")}, "must be seconds"),
        ({"python": "x", "close_timeout": dt.timedelta(seconds=-1)}, "must be seconds"),
        ({"python": "x", "name": object()}, 'option "name"'),
        ({"python": "x", "priority": 1}, "it is an option of a call"),
        ({"python": "x", "max_payload": 5_000_000}, "write a unit"),
        ({"command": "ls -l"}, "must be a list"),
    ],
    ids=str,
)
def test_wrong_options_of_a_pool_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        Pool(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeot": 1}, 'did you mean "timeout"'),
        ({"retries": True}, "must be a whole number"),
        ({"workers": 1}, "it is an option of a pool"),
        ({"trace": {"a": 1}}, "must be a map"),
        ({"timeout": object()}, 'option "timeout"'),
    ],
    ids=str,
)
def test_wrong_options_of_a_call_are_named(shared_pool: Pool, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        shared_pool.call("nothing", None, **cast("Any", options))
    with pytest.raises(InvalidOption, match=message):
        shared_pool.submit("nothing", None, **cast("Any", options))


def test_an_unknown_function_is_named_with_the_nearest(shared_pool: Pool) -> None:
    with pytest.raises(NoSuchFunction, match="'add'"):
        shared_pool.call("ad")


def test_stats_count_what_was_done() -> None:
    with Pool(python=support.BASICS, workers=1) as pool:
        assert pool.stats()["workers"] == 0
        assert pool.functions() == []
        for n in range(5):
            pool.call("add", {"a": n})
        with pytest.raises(NoSuchFunction):
            pool.call("missing")
        stats = pool.stats()
        assert (stats["submitted"], stats["completed"], stats["failed"]) == (6, 5, 1)
        assert (stats["workers"], stats["ready"], stats["queued"]) == (1, 1, 0)
        assert stats["run"]["count"] == 6
        worker = stats["details"][0]
        assert (worker["calls"], worker["index"], worker["ready"]) == (6, 0, True)
        assert worker["pid"] is not None
        assert support.alive(worker["pid"])
        assert "add" in [function["name"] for function in pool.functions()]


def test_calls_tells_what_runs_and_what_waits(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1) as pool:
        first = pool.submit("wait_for_file", str(gate))
        second = pool.submit("nothing")
        support.eventually(lambda: [call["state"] for call in pool.calls()] == ["running", "waiting"])
        running, waiting = pool.calls()
        assert (running["fn"], running["attempt"], running["worker"]) == ("wait_for_file", 1, 0)
        assert (waiting["fn"], waiting["attempt"], waiting["worker"]) == ("nothing", 0, None)
        assert (first.running(), second.running()) == (True, False)
        gate.touch()
        assert (first.result(), second.result()) == ("there", None)
        assert pool.calls() == []


def test_a_full_queue_refuses_and_goes_on(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1, max_queue=2) as pool:
        pool.call("nothing")
        held = pool.submit("wait_for_file", str(gate))
        waiting = [pool.submit("nothing") for _ in range(2)]
        refused = pool.submit("nothing")
        with pytest.raises(QueueFull, match="2 calls waiting"):
            refused.result(support.LIMIT_S)
        with pytest.raises(QueueFull) as caught:
            pool.call("nothing")
        assert caught.value.safe_to_repeat
        gate.touch()
        assert [future.result() for future in [held, *waiting]] == ["there", None, None]


def test_map_keeps_the_order_and_takes_no_more_than_its_window(shared_pool: Pool) -> None:
    taken: list[int] = []

    def values() -> Any:
        for n in itertools.count():
            taken.append(n)
            yield {"a": n, "b": 0}

    results = shared_pool.map("add", values(), window=4)
    assert list(itertools.islice(results, 50)) == list(range(50))
    assert len(taken) <= 55
    cast("Any", results).close()
    assert sorted(shared_pool.map_unordered("add", ({"a": n} for n in range(30)))) == list(range(1, 31))
    assert list(shared_pool.map("add", [])) == []


def test_leaving_a_map_early_cancels_what_is_under_way(pool: Pool) -> None:
    values = [{"seconds": 0.0}, *[{"seconds": 100.0}] * 3]
    for _ in pool.map("rest", values, window=4):
        break
    support.eventually(lambda: pool.calls() == [])


def test_many_threads_may_share_a_pool(shared_pool: Pool) -> None:
    def add(n: int) -> Any:
        return shared_pool.call("add", {"a": n})

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(add, range(400))) == list(range(1, 401))


def test_other_threads_run_while_a_call_waits(pool: Pool) -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        pool.call("rest", 0.3)
        assert counted > 1000
    finally:
        done.set()
        thread.join()


def test_closing_finishes_what_was_submitted() -> None:
    pool = Pool(python=support.BASICS, workers=1)
    futures = [pool.submit("add", {"a": n}) for n in range(20)]
    pool.close()
    assert [future.result(0) for future in futures] == list(range(1, 21))
    assert pool.closed
    pool.close()
    pool.terminate()
    with pytest.raises(PoolClosed):
        pool.call("nothing")
    with pytest.raises(PoolClosed):
        pool.submit("nothing")
    assert pool.stats()["workers"] == 0


def test_closing_gives_up_after_its_timeout() -> None:
    pool = Pool(python=support.BASICS, workers=1)
    pool.call("nothing")
    running, waiting = pool.submit("spin", 100.0), pool.submit("nothing")
    support.eventually(running.running)
    pool.close(timeout=0.2)
    for future, started in ((running, ("maybe", "yes")), (waiting, ("no",))):
        error = future.exception(support.LIMIT_S)
        assert isinstance(error, PoolClosed)
        assert error.started in started
    with pytest.raises(InvalidOption, match="timeout"):
        pool.close(timeout=-1)


def test_a_with_block_left_by_an_exception_does_not_wait() -> None:
    futures: list[CallFuture[Any]] = []
    with pytest.raises(RuntimeError, match="out"), Pool(python=support.BASICS, workers=1) as pool:  # noqa: PT012
        futures.append(pool.submit("spin", 1000.0))
        support.eventually(futures[0].running)
        raise RuntimeError("out")
    assert isinstance(futures[0].exception(support.LIMIT_S), PoolClosed)


def test_a_worker_that_is_started_by_hand_attaches() -> None:
    with Pool(python=support.BASICS, workers=1) as pool:
        assert pool.invite() is None
    with Pool(python=support.BASICS, workers=0, endpoint=True) as pool:
        invitation = pool.invite()
        assert invitation is not None
        address, token = invitation
        variables = {"GANGER_ENDPOINT": address, "GANGER_TOKEN": token}
        start = str(Path(ganger.__file__).parent / "python" / "ganger_worker_start.py")
        worker = subprocess.Popen([sys.executable, start, support.BASICS], env={**os.environ, **variables})
        try:
            assert pool.call("pid") == worker.pid
            pool.close()
            assert worker.wait(support.LIMIT_S) == 0
        finally:
            worker.kill()
            worker.wait()
    assert not Path(address).exists()
