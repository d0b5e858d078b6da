"""The drop-in for the standard library's pool."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import math
import multiprocessing
import os
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

import importable
import support
from ganger import (
    InvalidInput,
    InvalidResult,
    PoolClosed,
    ProcessPool,
    RemoteError,
    StartFailed,
    WorkerCrashed,
)


@pytest.fixture(scope="module")
def processes() -> Any:
    with ProcessPool(2) as made:
        yield made


def test_functions_are_run_elsewhere(processes: ProcessPool) -> None:
    assert isinstance(processes, concurrent.futures.Executor)
    assert processes.submit(os.getpid).result() != os.getpid()
    assert processes.submit(math.factorial, 20).result() == math.factorial(20)
    assert processes.submit(int, "ff", base=16).result() == 255
    assert processes.submit(functools.partial(pow, 2), 10).result() == 1024
    assert processes.submit(importable.double, importable.Thing(3)).result() == importable.Thing(6)


def test_lambdas_and_local_functions_are_sent_by_value(processes: ProcessPool) -> None:
    factor = 3

    def local(x: int) -> int:
        return x * factor

    assert processes.submit(lambda: factor + 1).result() == 4
    assert list(processes.map(local, range(5))) == [0, 3, 6, 9, 12]


def test_map_is_the_standard_one(processes: ProcessPool) -> None:
    assert list(processes.map(pow, [2, 3, 4], [2, 2, 2])) == [4, 9, 16]
    assert list(processes.map(abs, range(-50, 0), chunksize=7)) == list(range(50, 0, -1))
    assert list(processes.map(abs, [])) == []
    endless = processes.map(int, itertools.count(), buffersize=3)
    assert list(itertools.islice(endless, 20)) == list(range(20))
    with pytest.raises(TimeoutError):
        list(processes.map(time.sleep, [0.0, 100.0], timeout=0.3))
    with pytest.raises(ValueError, match="chunksize"):
        processes.map(abs, [1], chunksize=0)
    with pytest.raises(ValueError, match="buffersize"):
        processes.map(abs, [1], buffersize=0)


def test_the_original_exception_is_raised_with_the_remote_traceback(processes: ProcessPool) -> None:
    with pytest.raises(importable.Custom, match="custom") as caught:
        processes.submit(importable.fail).result()
    assert caught.value.number == 7
    assert isinstance(caught.value.__cause__, RemoteError)
    assert "importable.py" in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ZeroDivisionError):
        list(processes.map(importable.divide, [1, 0]))


def test_an_exception_that_cannot_be_read_is_told_all_the_same(processes: ProcessPool) -> None:
    from ganger import CallFailed

    with pytest.raises(CallFailed, match="Unreadable"):
        processes.submit(importable.fail_unreadably).result()
    assert processes.submit(abs, -1).result() == 1


def test_what_cannot_be_pickled_is_refused_at_once(processes: ProcessPool) -> None:
    import threading

    with pytest.raises(InvalidInput, match="pickle"):
        processes.submit(abs, threading.Lock())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidResult):
        processes.submit(threading.Lock).result()
    with pytest.raises(InvalidResult, match="unpickled"):
        processes.submit(importable.only_there).result()


def test_a_death_costs_one_call(processes: ProcessPool) -> None:
    with pytest.raises(WorkerCrashed) as caught:
        processes.submit(os._exit, 5).result()
    assert caught.value.exit_code == 5
    assert not isinstance(caught.value, concurrent.futures.BrokenExecutor)
    assert processes.submit(abs, -1).result() == 1


def test_a_call_that_runs_can_be_cancelled(tmp_path: Path) -> None:
    with ProcessPool(1, cancel_grace=0.1) as processes:
        future = processes.submit(importable.begin_and_spin, tmp_path / "begun")
        support.eventually((tmp_path / "begun").exists)
        assert future.cancel()
        assert future.cancelled()
        assert processes.submit(abs, -1).result() == 1


def test_an_initializer_runs_in_every_worker() -> None:
    with ProcessPool(2, initializer=importable.remember, initargs=("kept",)) as processes:
        assert set(processes.map(importable.remembered, range(20))) == {"kept"}
    with ProcessPool(1, initializer=importable.fail) as processes:
        with pytest.raises(StartFailed, match="custom") as caught:
            processes.submit(abs, -1).result()
        assert 'raise Custom("custom")' in "".join(traceback.format_exception(caught.value)), (
            "its own traceback"
        )


def test_shutdown_is_the_standard_one(tmp_path: Path) -> None:
    processes = ProcessPool(1)
    running = processes.submit(importable.wait_for, tmp_path / "gate")
    support.eventually(running.running)
    waiting = [processes.submit(abs, -n) for n in range(5)]
    processes.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(PoolClosed):
        processes.submit(abs, -1)
    assert concurrent.futures.wait(waiting, support.LIMIT_S).not_done == set()
    assert all(future.cancelled() for future in waiting)
    (tmp_path / "gate").touch()
    assert running.result() == "there"
    processes.shutdown()


def test_what_is_not_supported_is_said() -> None:
    with pytest.raises(ValueError, match="max_tasks_per_child"):
        ProcessPool(1, max_tasks_per_child=0)
    with pytest.raises(ValueError, match="fork"):
        ProcessPool(1, multiprocessing.get_context("fork"))


def test_functions_of_main_need_cloudpickle_and_it_is_said() -> None:
    script = """
        def own(x): return x + 1
        class Box:
            def __init__(self, x): self.x = x
        def box(x): return Box(x)
        sys.modules["cloudpickle"] = None if len(sys.argv) > 2 else sys.modules.get("cloudpickle")
        if sys.modules["cloudpickle"] is None and len(sys.argv) <= 2: del sys.modules["cloudpickle"]
        with ProcessPool(1) as pool:
            for argument in (own, box):
                try:
                    result = pool.submit(argument, 1).result()
                    say(result if result == 2 else isinstance(result, Box))
                except ganger.InvalidInput as error:
                    say(error)
    """
    code, out, errors = support.run(script)
    assert (code, out, errors) == (0, "2\nTrue\n", "")
    code, out, errors = support.run(script, "without")
    assert (code, errors) == (0, "")
    assert "own is defined in __main__" in out
    assert "cloudpickle is installed" in out
