"""The end of an app, by every way there is. Nothing outlives it, and nothing holds it up."""

from __future__ import annotations

import os
import signal
import time

import pytest

import support


def gone(*pids: int) -> None:
    support.eventually(lambda: not any(map(support.alive, pids)), f"{pids} are gone")


def test_an_idle_pool_does_not_hold_up_the_end() -> None:
    app = support.App("""
        pool = Pool(python=BASICS, workers=2)
        say(pool.call("pid"))
    """)
    pid = int(app.line())
    code, _, errors = app.ended()
    assert (code, errors) == (0, "")
    gone(pid)


def test_calls_that_are_pending_at_the_end_are_finished() -> None:
    code, out, errors = support.run("""
        pool = Pool(python=BASICS, workers=1)
        pool.submit("rest", 0.3).add_done_callback(lambda done: say(done.result()))
    """)
    assert (code, out, errors) == (0, "rested\n", "")


def test_calls_that_do_not_end_hold_up_the_end_for_the_close_timeout_only() -> None:
    code, _, errors = support.run("""
        pool = Pool(python=BASICS, workers=1, close_timeout=0.3)
        pool.submit("spin", 1000.0)
        other = ProcessPool(1, close_timeout=0.3)
        other.submit(time.sleep, 1000.0)
        other.shutdown(wait=False)
    """)
    assert (code, errors) == (0, "")


def test_a_thread_that_waits_for_a_call_does_not_hold_up_the_end() -> None:
    code, out, errors = support.run("""
        pool = Pool(python=BASICS, workers=1, close_timeout=0.2)
        def wait():
            try:
                pool.call("spin", 1000.0)
            except ganger.PoolClosed:
                say("closed")
        threading.Thread(target=wait).start()
        while not any(call["state"] == "running" for call in pool.calls()): time.sleep(0.01)
    """)
    assert (code, out, errors) == (0, "closed\n", "")


def test_daemon_threads_and_callbacks_at_the_end_are_harmless() -> None:
    for _ in range(5):
        code, _, errors = support.run("""
            pool = Pool(python=BASICS, workers=2, close_timeout=0.05)
            pool.on("worker:exit", lambda data: None)
            pool.on("worker:log", lambda data: None)
            def work():
                while True:
                    try: pool.submit("say", "x").add_done_callback(lambda done: None)
                    except ganger.PoolClosed: return
                    time.sleep(0.001)
            pool.call("nothing")
            for _ in range(4): threading.Thread(target=work, daemon=True).start()
            time.sleep(0.1)
        """)
        assert (code, errors) == (0, "")


def test_an_exception_ends_the_app_as_ever() -> None:
    code, _, errors = support.run("""
        pool = Pool(python=BASICS, workers=1)
        pool.call("nothing")
        raise SystemExit(7)
    """)
    assert (code, errors) == (7, "")


@pytest.mark.parametrize("way", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_nothing_outlives_an_app_that_just_ends(way: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    runtime = tmp_path_factory.mktemp("ends")  # Short, as paths of sockets have to be.
    app = support.App(f"""
        os.environ["XDG_RUNTIME_DIR"] = {str(runtime)!r}
        pool = Pool(python=BASICS, workers=4, endpoint=True)
        pool.warm()
        futures = [pool.submit("spin", 1000.0), pool.submit("hold_the_interpreter", 1000)]
        while not all(future.running() for future in futures): time.sleep(0.01)
        grandchild = pool.call("grandchild")
        say(*[worker["pid"] for worker in pool.stats()["details"]], grandchild, pool.invite()[0])
        {way}
    """)
    *words, address = app.line().split()
    pids = [int(pid) for pid in words]
    assert len(pids) == 5, "one computes, one is inside C, two are idle, one has a child"
    app.ended()
    gone(*pids)
    assert address.startswith(str(runtime))
    support.eventually(lambda: not list(runtime.iterdir()), "no socket is left")


def test_a_dropped_pool_warns_and_stops_its_workers() -> None:
    code, out, errors = support.run(
        """
        pool = Pool(python=BASICS, workers=1, name="dropped")
        pid = pool.call("pid")
        future = pool.submit("spin", 1000.0)
        del pool
        try: future.result()
        except ganger.PoolClosed: say("closed")
        until = time.monotonic() + 20
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < until: time.sleep(0.01)
        say(os.path.exists(f"/proc/{pid}"))
        """,
        options=("-X", "dev"),
    )
    assert (code, out) == (0, "closed\nFalse\n")
    assert "ResourceWarning: unclosed <ganger.Pool 'dropped' open>" in errors


def test_a_closed_pool_does_not_warn() -> None:
    code, _, errors = support.run(
        """
        with Pool(python=BASICS, workers=1) as pool: pool.call("nothing")
        """,
        options=(
            "-W",
            "error",
        ),
    )
    assert (code, errors) == (0, "")


def test_ctrl_c_ends_a_call_at_once_with_one_traceback() -> None:
    app = support.App("""
        with Pool(python=BASICS, workers=2) as pool:
            pool.call("nothing")
            others = [pool.submit("spin", 1000.0)]
            say(*[worker["pid"] for worker in pool.stats()["details"] if worker["pid"]])
            pool.call("rest", 1000.0)
    """)
    pids = [int(pid) for pid in app.line().split()]
    time.sleep(0.3)  # Into the call.
    app.interrupt()
    code, _, errors = app.ended()
    assert code in (130, -signal.SIGINT)
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("KeyboardInterrupt")
    gone(*pids)


def test_ctrl_c_during_a_call_cancels_it_and_the_app_may_go_on() -> None:
    app = support.App("""
        with Pool(python=BASICS, workers=1) as pool:
            pool.call("nothing")
            say("ready")
            try:
                pool.call("rest", 1000.0)
            except KeyboardInterrupt:
                say("interrupted", pool.stats()["cancelled"], pool.calls())
            say(pool.call("add", {"a": 1}))
    """)
    assert app.line() == "ready"
    time.sleep(0.3)  # Into the call.
    app.interrupt()
    code, out, errors = app.ended()
    assert (code, out, errors) == (0, "interrupted 1 []\n2\n", "")


def test_ctrl_c_while_closing_ends_the_pool_at_once() -> None:
    app = support.App("""
        pool = Pool(python=BASICS, workers=1, close_timeout=1000)
        future = pool.submit("spin", 1000.0)
        while not future.running(): time.sleep(0.01)
        say("ready")
        try: pool.close()
        except KeyboardInterrupt: say(type(future.exception(20)).__name__)
    """)
    assert app.line() == "ready"
    time.sleep(0.3)  # Into closing.
    app.interrupt()
    code, out, errors = app.ended()
    assert (code, out, errors) == (0, "PoolClosed\n", "")


def test_importing_is_quick_and_leaves_asyncio_alone() -> None:
    code, out, _ = support.run("say('asyncio' in sys.modules)".replace("asyncio, ", ""))
    # The prelude of these scripts imports asyncio, so ask an interpreter without it.
    import subprocess
    import sys

    command = [sys.executable, "-c", "import ganger, sys; print('asyncio' in sys.modules)"]
    path = {**os.environ, "PYTHONPATH": str(support.HERE.parent / "python")}
    found = subprocess.run(command, capture_output=True, text=True, env=path, check=True)
    assert found.stdout == "False\n"
    assert (code, out) == (0, "True\n")


def test_ctrl_c_while_calls_are_finished_at_the_end_ends_them() -> None:
    app = support.App("""
        pool = Pool(python=BASICS, workers=1, close_timeout=1000)
        future = pool.submit("spin", 1000.0)
        while not future.running(): time.sleep(0.01)
        say(pool.stats()["details"][0]["pid"])
    """)
    pid = int(app.line())
    time.sleep(0.3)  # Into the end.
    app.interrupt()
    app.ended()
    gone(pid)


@pytest.mark.parametrize("made", ["with {} as pool:", "if pool := {}:"])
@pytest.mark.parametrize("wait", ["for future in futures: future.result()", 'pool.call("interval", 6.0)'])
def test_ctrl_c_with_eight_calls_under_way_does_not_wait_for_them(made: str, wait: str) -> None:
    app = support.App(f"""
        {made.format("Pool(python=BASICS, workers=4)")}
            pool.warm()
            futures = [pool.submit("interval", 3600.0) for _ in range(8)]
            while pool.stats()["busy"] < 4: time.sleep(0.01)
            say(*[worker["pid"] for worker in pool.stats()["details"]])
            {wait}
    """)
    pids = [int(pid) for pid in app.line().split()]
    time.sleep(0.2)  # Into the wait.
    app.interrupt()
    code, _, errors = app.ended()
    assert code in (130, -signal.SIGINT)
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("KeyboardInterrupt")
    gone(*pids)


def test_ctrl_c_with_a_thread_for_each_call_has_one_traceback_too() -> None:
    app = support.App("""
        pool = Pool(python=BASICS, workers=4)
        threads = [threading.Thread(target=pool.call, args=("interval", 1000.0)) for _ in range(8)]
        for thread in threads: thread.start()
        def other():
            try: pool.call("interval", 1000.0)
            except ganger.PoolClosed: raise ValueError("of the app's own")
        threading.Thread(target=other).start()
        while len(pool.calls()) < 9: time.sleep(0.01)
        say("ready")
        threads[0].join()
    """)
    assert app.line() == "ready"
    time.sleep(0.2)  # Into the wait.
    begun = time.monotonic()
    app.interrupt()
    _, _, errors = app.ended()
    assert time.monotonic() - begun < 10
    assert errors.count("KeyboardInterrupt") == 1
    assert [errors.count(f"Exception in thread {name}") for name in ("", "Thread-9")] == [1, 1], errors


def test_an_hour_long_call_holds_up_the_end_for_the_close_timeout() -> None:
    app = support.App("""
        pool = Pool(python=BASICS, workers=1, close_timeout=1)
        future = pool.submit("interval", 3600.0)
        while not future.running(): time.sleep(0.01)
        say(*[worker["pid"] for worker in pool.stats()["details"]])
    """)
    pid = int(app.line())
    begun = time.monotonic()
    code, _, errors = app.ended()
    assert (code, errors) == (0, "")
    assert time.monotonic() - begun > 0.5
    gone(pid)
