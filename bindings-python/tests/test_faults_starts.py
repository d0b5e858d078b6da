"""Faults of other pools when workers start: slots lost for good, errors nobody can place, hanging starts."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import Pool, ProcessPool, StartFailed

FAULTS = support.FAULTS


def test_a_pool_serves_again_once_its_interpreter_is_back(tmp_path: Path) -> None:
    interpreter = tmp_path / "python"
    with Pool(python=FAULTS, workers=2, interpreter=str(interpreter)) as pool:
        for _ in range(4):
            with pytest.raises(StartFailed, match=str(interpreter)):
                pool.call("echo", 1)
        # A file beside it that goes on to the real one: a link would lose the environment that it belongs to.
        interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        interpreter.chmod(0o755)
        support.eventually(lambda: serves(pool))
        pool.warm(timeout=support.LIMIT_S)
        assert pool.stats()["ready"] == 2


def serves(pool: Pool) -> bool:
    try:
        return bool(pool.call("echo", True))
    except StartFailed:
        return False


def test_a_working_directory_that_is_gone_is_a_failed_start_told_once_a_try(tmp_path: Path) -> None:
    exits: list[Any] = []
    gone = tmp_path / "gone"
    gone.mkdir()
    with Pool(python=FAULTS, workers=1, cwd=str(gone)) as pool:
        pool.on("worker:exit", exits.append)
        gone.rmdir()
        errors = [pool.submit("echo", n).exception(support.LIMIT_S) for n in range(50)]
        assert {type(error) for error in errors} == {StartFailed}
        assert str(gone) in str(errors[0])
        # Fifty calls, and a few starts with longer and longer waits between.
        assert 1 <= len(exits) <= 8
        assert {event["reason"] for event in exits} == {"start-failed"}
        gone.mkdir()
        support.eventually(lambda: serves(pool))


def test_a_host_without_descriptors_fails_calls_instead_of_hanging_and_heals() -> None:
    script = """
        import resource
        with Pool(python=BASICS, workers=2) as warm: warm.call("nothing")
        pool = Pool(python=BASICS, workers=2)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
        taken = []
        try:
            while True: taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError: pass
        error = pool.submit("nothing").exception(25)
        for fd in taken: os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        say(type(error).__name__)
        until = time.monotonic() + 25
        while time.monotonic() < until:
            if pool.submit("nothing").exception(25) is None:
                say("healed")
                break
        pool.close()
    """
    code, out, errors = support.run(script)
    assert (code, out.split()) == (0, ["StartFailed", "healed"]), errors


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_an_app_without_standard_descriptors_has_workers_with_lanes_of_their_own(
    closed: str, tmp_path: Path
) -> None:
    # What is opened next gets the numbers 0, 1 and 2, which a worker takes for its prints.
    script = tmp_path / "app.py"
    script.write_text(
        "import sys\nfrom ganger import Pool\n"
        "with Pool(python=sys.argv[1], workers=2) as pool:\n"
        "    open(sys.argv[2], 'w').write(repr([pool.call('echo', n) for n in range(4)]))\n"
    )
    result = tmp_path / "result"
    command = f'exec "$0" "$@" {closed}'
    arguments = [sys.executable, str(script), FAULTS, str(result)]
    path = {**os.environ, "PYTHONPATH": str(support.HERE.parent / "python")}
    subprocess.run(["sh", "-c", command, *arguments], check=True, timeout=support.LIMIT_S, env=path)
    assert result.read_text() == "[0, 1, 2, 3]"


def test_pools_can_be_made_while_other_threads_log() -> None:
    stop = threading.Event()
    logger = logging.getLogger("beside")
    logger.addHandler(handler := logging.StreamHandler(open(os.devnull, "w")))  # noqa: SIM115

    def chatter() -> None:
        while not stop.is_set():
            logger.warning("still here")

    threads = [threading.Thread(target=chatter) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for n in range(20):
            with ProcessPool(1) as processes:
                assert processes.submit(abs, -n).result(support.LIMIT_S) == n
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        logger.removeHandler(handler)
        handler.stream.close()


def test_workers_outlive_the_thread_that_started_them() -> None:
    with Pool(python=FAULTS, workers=2) as pool:
        pids: list[int] = []
        for _ in range(5):
            thread = threading.Thread(target=lambda: pids.append(pool.call("pid")))
            thread.start()
            thread.join()
        assert set(pids) <= {worker["pid"] for worker in pool.stats()["details"]}
        assert all(support.alive(pid) for pid in pids)
        assert pool.stats()["crashed"] == 0


def test_the_default_size_is_what_this_process_may_use() -> None:
    script = """
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with Pool(python=BASICS) as pool:
            pool.warm()
            say(pool.stats()["workers"])
    """
    code, out, errors = support.run(script)
    assert (code, out) == (0, "1\n"), errors
