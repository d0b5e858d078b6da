"""A call's future is one of the standard library's, and more can be done with it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import random
import signal
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("way", ["result", "done", "callback", "wait", "exception"])
def test_every_way_of_looking_may_follow_every_other(shared_pool: Pool, way: str) -> None:
    looks: dict[str, Callable[[CallFuture[Any]], object]] = {
        "result": lambda future: future.result(support.LIMIT_S) == 2,
        "done": lambda future: support.eventually(future.done),
        "callback": called_back,
        "wait": lambda future: concurrent.futures.wait([future], support.LIMIT_S).done == {future},
        "exception": lambda future: future.exception(support.LIMIT_S) is None,
    }
    for second in looks:
        future = shared_pool.submit("add", {"a": 1})
        assert looks[way](future)
        assert looks[second](future)
        assert (future.done(), future.cancelled(), future.cancel()) == (True, False, False)
        assert "finished" in repr(future)


def called_back(future: CallFuture[Any]) -> bool:
    told = threading.Event()
    future.add_done_callback(lambda _: told.set())
    return told.wait(support.LIMIT_S)


def test_threads_that_wait_differently_all_get_the_outcome(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    future = pool.submit("wait_for_file", str(gate))
    answers: list[object] = []

    async def await_it() -> None:
        answers.append(await future)

    ways: list[Callable[[], object]] = [
        *[lambda: answers.append(future.result()) for _ in range(4)],
        *[lambda: asyncio.run(await_it()) for _ in range(4)],
        lambda: answers.append(next(concurrent.futures.as_completed([future])).result()),
    ]
    random.shuffle(ways)
    threads = [threading.Thread(target=way) for way in ways]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    gate.touch()
    for thread in threads:
        thread.join(support.LIMIT_S)
    assert answers == ["there"] * len(ways)


def test_cancelling_wakes_those_who_wait(pool: Pool) -> None:
    future = pool.submit("rest", 1000.0)
    woken: list[str] = []

    def wait() -> None:
        try:
            future.result()
        except concurrent.futures.CancelledError:
            woken.append("thread")

    async def await_it() -> None:
        try:
            await future
        except asyncio.CancelledError:
            woken.append("task")

    threads = [threading.Thread(target=wait), threading.Thread(target=lambda: asyncio.run(await_it()))]
    for thread in threads:
        thread.start()
    support.eventually(lambda: any(call["state"] == "running" for call in pool.calls()))
    time.sleep(0.1)
    assert future.cancel()
    for thread in threads:
        thread.join(support.LIMIT_S)
    assert sorted(woken) == ["task", "thread"]


def test_an_error_is_one_object_and_makes_no_circle(shared_pool: Pool) -> None:
    def lose() -> weakref.ref[CallFuture[object]]:
        # In no variable: the traceback would have it through this frame.
        only = [shared_pool.submit("fail")]
        reference = weakref.ref(only[0])
        with contextlib.suppress(CallFailed):
            only.pop().result()
        return reference

    future = shared_pool.submit("fail")
    with pytest.raises(CallFailed) as caught:
        future.result()
    assert future.exception() is caught.value

    gc.disable()
    try:
        assert lose()() is None
    finally:
        gc.enable()


def test_a_future_that_nobody_asks_is_forgotten(shared_pool: Pool) -> None:
    gone = [weakref.ref(shared_pool.submit("add", {"a": n})) for n in range(10)]
    shared_pool.drained()
    assert [ref() for ref in gone] == [None] * 10


def test_a_signals_handler_may_raise_while_a_result_is_waited_for(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    future = pool.submit("wait_for_file", str(gate))

    class Alarm(Exception):
        pass

    def alarm(*_: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            future.result()
    finally:
        signal.signal(signal.SIGALRM, before)
    gate.touch()
    assert future.result() == "there"
