"""Copies of the app that `fork` makes."""

from __future__ import annotations

import os
import signal

import support


def test_an_inherited_pool_says_forked_at_once_and_a_new_one_works() -> None:
    code, out, errors = support.run("""
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(python=BASICS, workers=1)
        pool.on("worker:exit", print)
        pool.call("nothing")
        pending = pool.submit("rest", 1.0)
        if (child := os.fork()) == 0:
            def tried(act):
                try: return act()
                except ganger.Forked: return "Forked"
            async def closed(): await pool.aclose()
            ways = dict(
                call=lambda: pool.call("nothing"), submit=lambda: pool.submit("nothing"),
                stats=pool.stats, calls=pool.calls, functions=pool.functions, close=pool.close,
                terminate=pool.terminate,
                on=lambda: pool.on("worker:log", print), aclose=lambda: asyncio.run(closed()),
                map=lambda: list(pool.map("nothing", [1])), invite=pool.invite,
            )
            say(sorted({tried(act) for act in ways.values()}, key=str), pool.closed, pool)
            with pool: pass
            del pool, ways
            with Pool(python=BASICS, workers=1) as own:
                say(own.call("add", {"a": 1}), own.submit("add", {"a": 2}).result())
            sys.exit(5)
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        say(pending.result(), pool.call("add", {"a": 3}))
        pool.close()
    """)
    lines = out.splitlines()
    assert errors == ""
    assert code == 0
    assert lines[0] == "['Forked'] True <ganger.Pool 'basics' forked>"
    assert lines[1] == "2 3"
    assert lines[2] == "5"
    assert lines[3] == "rested 4"


def test_a_child_that_merely_ends_leaves_the_pool_alone() -> None:
    code, out, errors = support.run("""
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(python=BASICS, workers=1)
        for way in (lambda: os._exit(0), lambda: sys.exit(0)):
            pid = pool.call("pid")
            if (child := os.fork()) == 0: way()
            say(os.waitpid(child, 0)[1], pool.call("pid") == pid)
            if (child := os.fork()) == 0:
                del pool
                sys.exit(0)
            say(os.waitpid(child, 0)[1], pool.call("pid") == pid)
        pool.close()
    """)
    assert (code, errors) == (0, "")
    assert out == "0 True\n" * 4


def test_multiprocessing_may_fork_beside_a_pool() -> None:
    code, out, errors = support.run("""
        warnings.simplefilter("ignore", DeprecationWarning)
        import multiprocessing
        fork = multiprocessing.get_context("fork")
        with Pool(python=BASICS, workers=1) as pool:
            pool.call("nothing")
            child = fork.Process(target=print, args=("from a child",))
            child.start(); child.join()
            say(child.exitcode, pool.call("add", {"a": 1}))
    """)
    assert (code, errors) == (0, "")
    assert out == "from a child\n0 2\n"


def test_no_worker_stays_when_the_host_is_killed_and_its_forked_child_lives_on() -> None:
    app = support.App("""
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(python=BASICS, workers=2)
        busy = pool.submit("spin", 1000.0)
        while not busy.running(): time.sleep(0.01)
        pool.call("nothing")
        grandchild = pool.call("grandchild")
        if (child := os.fork()) == 0:
            time.sleep(600)
        say(child, *[worker["pid"] for worker in pool.stats()["details"]], grandchild)
        time.sleep(600)
    """)
    child, *pids = [int(pid) for pid in app.line().split()]
    try:
        assert len(pids) == 3
        app.process.kill()
        app.process.wait()
        support.eventually(lambda: not any(map(support.alive, pids)), f"workers {pids} are gone")
        assert support.alive(child)
    finally:
        os.kill(child, signal.SIGKILL)
        app.process.communicate()


def test_many_forks_while_calls_run_never_hang() -> None:
    code, out, errors = support.run("""
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(python=BASICS, workers=2)
        stop = False
        def work():
            while not stop: pool.call("add", {"a": 1})
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for _ in range(40):
            if (child := os.fork()) == 0:
                try: pool.submit("nothing")
                except ganger.Forked: os._exit(0)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for thread in threads: thread.join()
        pool.close()
        say("done")
    """)
    assert (code, out, errors) == (0, "done\n", "")


def test_a_future_that_was_inherited_says_forked_instead_of_hanging() -> None:
    code, out, errors = support.run("""
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(python=BASICS, workers=1)
        early, late = pool.submit("rest", 0.5), pool.submit("rest", 0.5)
        if (child := os.fork()) == 0:
            async def awaited(): await early
            for way in (early.result, late.result, lambda: asyncio.run(awaited())):
                try: say(way())
                except ganger.Forked: say("Forked")
            say(type(early.exception()).__name__)
            os._exit(0)
        os.waitpid(child, 0)
        say(early.result(), late.result())
        pool.close()
    """)
    assert (code, errors) == (0, "")
    assert out.splitlines() == ["Forked"] * 4 + ["rested rested"]
