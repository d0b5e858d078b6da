"""Workers that die, and workers that cannot start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import support
from ganger import Pool, RemoteError, StartFailed, WorkerCrashed


@pytest.mark.parametrize(
    ("how", "code", "signal"),
    [
        ("exit", 3, None),
        ("exit-0", 0, None),
        ("sys-exit", 4, None),
        ("SIGKILL", None, "SIGKILL"),
        ("SIGSEGV", None, "SIGSEGV"),
        ("SIGABRT", None, "SIGABRT"),
    ],
)
def test_a_death_costs_its_own_call_only(how: str, code: int | None, signal: str | None) -> None:
    with Pool(python=support.BASICS, workers=1) as pool:
        before = pool.call("pid")
        with pytest.raises(WorkerCrashed) as caught:
            pool.call("die", how)
        error = caught.value
        assert (error.pid, error.exit_code, error.signal) == (before, code, signal)
        assert (error.function, error.attempts, error.safe_to_repeat) == ("die", 1, False)
        assert error.started in ("maybe", "yes")
        assert error.worker is not None
        assert (error.worker["index"], error.worker["cause"]) == (0, "exit" if signal is None else "signal")
        assert pool.call("add", {"a": 1}) == 2
        assert pool.stats()["crashed"] == 1


WAYS = {
    "exit 0": ("os._exit(0)", 0, None),
    "exit 1": ("os._exit(1)", 1, None),
    "SIGKILL": ("os.kill(os.getpid(), 9)", None, "SIGKILL"),
    "abort": ("os.abort()", None, "SIGABRT"),
}
DYING = """
import os, sys, threading
from ganger_worker import action, shutdown
def end(): {end}
if os.environ["PHASE"] == "before ready":
    print("about to end", file=sys.stderr)
    end()
@action
def f(): return 1
@action
def soon():
    threading.Timer(0.05, end).start()
@shutdown
def leave():
    if os.environ["PHASE"] == "stopping": end()
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_death_before_ready_fails_every_call_that_waits(way: str, tmp_path: Path) -> None:
    end, code, signal = WAYS[way]
    (tmp_path / "dying.py").write_text(DYING.format(end=end))
    exits: list[Any] = []
    with Pool(python=tmp_path / "dying.py", workers=1, env={"PHASE": "before ready"}) as pool:
        pool.on("worker:exit", exits.append)
        for error in [future.exception(support.LIMIT_S) for future in [pool.submit("f") for _ in range(3)]]:
            assert isinstance(error, StartFailed)
            assert (error.exit_code, error.signal, error.started) == (code, signal, "no")
            assert error.worker is not None
            assert "about to end" in error.worker["stderr_tail"]
    assert {exit["reason"] for exit in exits} == {"start-failed"}
    assert len(exits) <= 6, "tries before calls fail"


@pytest.mark.parametrize("way", WAYS)
def test_a_death_while_idle_or_stopping_fails_no_call(way: str, tmp_path: Path) -> None:
    end, code, signal = WAYS[way]
    (tmp_path / "dying.py").write_text(DYING.format(end=end))
    exits: list[Any] = []
    with Pool(python=tmp_path / "dying.py", workers=1, env={"PHASE": "stopping"}) as pool:
        pool.on("worker:exit", exits.append)
        pool.call("soon")
        support.eventually(lambda: exits)
        assert pool.call("f") == 1
    support.eventually(lambda: len(exits) == 2)
    assert [(exit["code"], exit["signal"], exit["running"]) for exit in exits] == [(code, signal, 0)] * 2
    assert [exit["reason"] for exit in exits] == ["crash", "shutdown"]
    assert (pool.stats()["crashed"], pool.stats()["failed"]) == (1, 0)


def test_a_worker_that_dies_of_its_memory_limit_says_so() -> None:
    exits: list[Any] = []
    with Pool(python=support.BASICS, workers=1, memory_limit="400mb") as pool:
        pool.on("worker:exit", exits.append)
        with pytest.raises(WorkerCrashed, match="went over its memory_limit") as caught:
            pool.call("hoard")
        assert (caught.value.signal, caught.value.attempts) == ("SIGABRT", 2)
        assert caught.value.worker is not None
        assert caught.value.worker["cause"] == "memory-limit"
        assert 0 < caught.value.worker["memory"][0] < 100_000_000
        support.eventually(lambda: len(exits) == 2)
        assert [(exit["reason"], exit["cause"]) for exit in exits] == [("crash", "memory-limit")] * 2
        assert pool.call("echo", 1) == 1


def test_waiting_calls_outlive_their_worker() -> None:
    with Pool(python=support.BASICS, workers=1) as pool:
        dying = pool.submit("die", "SIGKILL")
        others = [pool.submit("add", {"a": n}) for n in range(10)]
        assert isinstance(dying.exception(support.LIMIT_S), WorkerCrashed)
        assert [future.result(support.LIMIT_S) for future in others] == list(range(1, 11))


def test_a_worker_killed_from_outside_is_replaced() -> None:
    import os
    import signal

    with Pool(python=support.BASICS, workers=1) as pool:
        pid = pool.call("pid")
        os.kill(pid, signal.SIGKILL)
        support.eventually(lambda: pool.stats()["crashed"] == 1)
        assert pool.call("pid") != pid


def test_an_idempotent_call_runs_again(pool: Pool, tmp_path: Path) -> None:
    assert pool.call("die_once", str(tmp_path / "a"), idempotent=True) == "survived"
    with pytest.raises(WorkerCrashed):
        pool.call("die_once", str(tmp_path / "b"), idempotent=False)
    with pytest.raises(WorkerCrashed) as caught:
        pool.call("die", "SIGKILL", idempotent=True, retries=2)
    assert caught.value.attempts == 3


def test_a_syntax_error_is_told_and_the_pool_heals_when_it_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("from ganger_worker import action\n@action\ndef f(:\n")
    with Pool(python=file, workers=1) as pool:
        with pytest.raises(StartFailed, match="SyntaxError") as caught:
            pool.call("f")
        cause = caught.value.__cause__
        assert isinstance(cause, RemoteError)
        assert cause.type == "SyntaxError"
        assert "late.py" in str(cause)
        file.write_text("from ganger_worker import action\n@action\ndef f():\n    return 'healed'\n")
        assert support.eventually(lambda: heals(pool)) == "healed"


def heals(pool: Pool) -> object:
    try:
        return pool.call("f")
    except StartFailed:
        return None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"python": "/not/there.py"}, "no file"),
        ({"python": "no_such_module_here"}, "no_such_module_here"),
        ({"command": ["/not/there/worker"]}, "/not/there/worker"),
        ({"command": ["/bin/false"]}, "exited with code 1"),
    ],
    ids=str,
)
def test_a_worker_that_cannot_be_started_is_told(options: dict[str, object], message: str) -> None:
    with Pool(**options, workers=1) as pool, pytest.raises(StartFailed, match=message):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        pool.call("anything")


def test_grandchildren_go_with_their_worker() -> None:
    with Pool(python=support.BASICS, workers=1) as pool:
        grandchild = pool.call("grandchild")
        assert support.alive(grandchild)
    support.eventually(lambda: not support.alive(grandchild))
