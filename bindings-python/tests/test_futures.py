"""A call's future is one of the standard library's, and more can be done with it."""

from __future__ import annotations

import concurrent.futures
import threading
from pathlib import Path

import pytest

import support
from ganger import CallFailed, CallFuture, Pool


def test_it_is_a_standard_future(shared_pool: Pool) -> None:
    future = shared_pool.submit("add", {"a": 1})
    assert isinstance(future, concurrent.futures.Future)
    assert future.result() == 2
    assert future.exception() is None
    assert (future.done(), future.running(), future.cancelled(), future.cancel()) == (
        True,
        False,
        False,
        False,
    )
    assert isinstance(shared_pool.submit("fail").exception(), CallFailed)


def test_waiting_for_several_works(shared_pool: Pool) -> None:
    futures = [shared_pool.submit("add", {"a": n}) for n in range(50)]
    assert {future.result() for future in concurrent.futures.as_completed(futures)} == set(range(1, 51))
    assert concurrent.futures.wait(futures).not_done == set()


def test_a_result_may_be_waited_for_briefly(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    future = pool.submit("wait_for_file", str(gate))
    with pytest.raises(TimeoutError):
        future.result(0.01)
    gate.touch()
    assert future.result() == "there"


def test_callbacks_run_on_one_thread_in_order(shared_pool: Pool) -> None:
    seen: list[tuple[str, str]] = []
    done = threading.Event()

    def note(what: str) -> None:
        seen.append((what, threading.current_thread().name))

    future = shared_pool.submit("interval", 0.1)
    for what in ("first", "second"):
        future.add_done_callback(lambda _, what=what: note(what))  # type: ignore[misc]
    future.add_done_callback(lambda _: done.set())
    assert done.wait(support.LIMIT_S)
    assert [what for what, _ in seen] == ["first", "second"]
    assert threading.current_thread().name not in [name for _, name in seen]


def test_a_callback_that_raises_disturbs_nothing(shared_pool: Pool) -> None:
    future = shared_pool.submit("interval", 0.05)

    def raise_(_: CallFuture[object]) -> None:
        raise RuntimeError("a callback's own fault")

    future.add_done_callback(raise_)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    future.result()
    assert shared_pool.submit("add", {"a": 1}).result() == 2


def test_a_callback_may_call_the_pool(shared_pool: Pool) -> None:
    answers: list[object] = []
    future = shared_pool.submit("add", {"a": 1})
    future.add_done_callback(lambda done: answers.append(shared_pool.call("add", {"a": done.result()})))
    assert support.eventually(lambda: answers) == [3]


def test_cancelling_a_call_that_runs_settles_it_and_tells_the_worker(pool: Pool, tmp_path: Path) -> None:
    note = tmp_path / "note"
    future = pool.submit("cooperate", str(note))
    support.eventually(Path(f"{note}.begun").exists)
    assert future.cancel()
    assert future.cancel()
    assert (future.cancelled(), future.done(), future.running()) == (True, True, False)
    assert concurrent.futures.wait([future], support.LIMIT_S).not_done == set()
    support.eventually(note.exists)
    support.eventually(lambda: pool.stats()["busy"] == 0)
    assert pool.stats()["cancelled"] == 1
    assert pool.stats()["crashed"] == 0


def test_a_call_that_will_not_stop_costs_its_worker(tmp_path: Path) -> None:
    with Pool(python=support.BASICS, workers=1, cancel_grace=0.1) as pool:
        before = pool.call("pid")
        future = pool.submit("ignore_everything", str(tmp_path / "begun"))
        support.eventually((tmp_path / "begun").exists)
        assert future.cancel()
        assert pool.call("pid") != before
        support.eventually(lambda: not support.alive(before))


def test_a_waiting_call_that_is_cancelled_frees_its_place(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1, max_queue=1) as pool:
        running = pool.submit("wait_for_file", str(gate))
        support.eventually(running.running)
        waiting = pool.submit("nothing")
        assert waiting.cancel()
        another = pool.submit("add", {"a": 1})
        gate.touch()
        assert (running.result(), another.result()) == ("there", 2)


def test_many_threads_may_cancel_at_once(pool: Pool) -> None:
    for _ in range(20):
        future = pool.submit("rest", 1000.0)
        barrier = threading.Barrier(4)
        answers: list[bool] = []

        threads = [threading.Thread(target=cancel, args=(future, barrier, answers)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [True] * 4
        assert future.cancelled()


def cancel(future: CallFuture[object], barrier: threading.Barrier, answers: list[bool]) -> None:
    barrier.wait()
    answers.append(future.cancel())


def test_racing_cancel_against_the_result_settles_once(shared_pool: Pool) -> None:
    ends = set[str]()
    for _ in range(300):
        future = shared_pool.submit("add", {"a": 1})
        outcomes: list[str] = []
        future.add_done_callback(lambda done: outcomes.append("cancelled" if done.cancelled() else "done"))  # noqa: B023
        cancelled = future.cancel()
        concurrent.futures.wait([future])
        support.eventually(lambda: outcomes)  # noqa: B023
        assert outcomes == ["cancelled" if cancelled else "done"]
        ends.update(outcomes)
    assert "cancelled" in ends
