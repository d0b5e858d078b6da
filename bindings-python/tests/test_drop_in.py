"""What a script meets that had the standard library's pool until today."""

from __future__ import annotations

import concurrent.futures
import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import importable
import support
from ganger import InvalidOption, Pool, ProcessPool


def script(path: Path, code: str, *arguments: str, options: tuple[str, ...] = ()) -> str:
    """What a file prints that is run as an app."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    here = f"{support.HERE.parent / 'python'}"
    done = subprocess.run(
        [sys.executable, *options, str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=support.LIMIT_S,
        env={**os.environ, "PYTHONPATH": here},
        cwd=path.parent,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("end", ["del pool", "pool.shutdown(wait=False); del pool", "pass"])
def test_calls_are_finished_at_the_end_though_nobody_holds_the_pool(end: str) -> None:
    code, out, errors = support.run(f"""
        def work(n):
            time.sleep(0.2)
            print("did", n)
        pool = ProcessPool(1)
        for n in range(3): pool.submit(work, n)
        {end}
    """)
    assert (code, out, errors) == (0, "did 0\ndid 1\ndid 2\n", "")


def test_the_end_waits_for_calls_as_long_as_they_take_unless_told_otherwise() -> None:
    with ProcessPool(1) as endless, ProcessPool(1, close_timeout=3) as patient:
        assert endless.__dict__["_at_exit"].patience == "never"
        assert patient.__dict__["_at_exit"].patience is None


def test_what_functions_print_appears_where_the_app_prints() -> None:
    code, out, errors = support.run("""
        def work(n):
            print("line", n)
            sys.stderr.write(f"error {n}")
        with ProcessPool(1) as pool: pool.submit(work, 1).result()
        say("closed")
        pool = ProcessPool(1)
        pool.submit(work, 2).result()
    """)
    assert (code, out, errors) == (0, "line 1\nclosed\nline 2\n", "error 1\nerror 2\n")


@pytest.mark.parametrize(
    "problem", ["sys.exit(3)", "raise KeyboardInterrupt", "raise asyncio.CancelledError"]
)
def test_a_callback_that_exits_takes_no_other_futures_outcome(problem: str, tmp_path: Path) -> None:
    code, out, errors = support.run(
        f"""
        import concurrent.futures
        gate = sys.argv[2]
        def wait():
            while not os.path.exists(gate): time.sleep(0.01)
        def leave(future): {problem}
        pool = ProcessPool(1)
        pool.submit(wait)
        futures, told = [pool.submit(abs, -n) for n in range(100)], []
        for future in futures:
            future.add_done_callback(leave)
            future.add_done_callback(told.append)
        async def awaited():
            waiting = asyncio.ensure_future(asyncio.wait_for(asyncio.gather(*futures), 20))
            await asyncio.sleep(0)
            open(gate, "w").close()
            return len(await waiting)
        say(asyncio.run(awaited()))
        done, waiting = concurrent.futures.wait(futures, 20)
        say(len(done), len(waiting))
        pool.shutdown()
        say(len(told))
        """,
        str(tmp_path / "gate"),
    )
    assert (code, out) == (0, "100\n100 0\n100\n")
    assert "exception calling callback for" in errors


def test_an_interrupt_in_a_callback_on_the_main_thread_is_the_apps() -> None:
    with ProcessPool(1, cancel_grace=0.1) as pool:
        future = pool.submit(time.sleep, 100.0)
        told: list[Any] = []

        def interrupted(_future: object) -> None:
            raise KeyboardInterrupt

        future.add_done_callback(interrupted)
        future.add_done_callback(told.append)
        with pytest.raises(KeyboardInterrupt):
            future.cancel()
        assert told == [future]
        support.eventually(lambda: not pool.stats()["busy"], "the call was stopped")


def test_workers_find_modules_in_the_order_of_the_app(tmp_path: Path) -> None:
    for folder, who in (("first", "first"), ("second", "second")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "whose.py").write_text(f"def ask(): return {who!r}")
    for name in ("pool", "streams", "future"):  # as some of the library's own are called
        (tmp_path / f"{name}.py").write_text("def ask(): return 'own'")
    out = script(
        tmp_path / "app.py",
        """
import os, sys
sys.path.append("second")
sys.path.insert(0, "first")
import whose, pool, streams, future
from ganger import ProcessPool
with ProcessPool(1, cwd="/") as processes:
    print([processes.submit(module.ask).result() for module in (whose, pool, streams, future)])
""",
    )
    assert out == "['first', 'own', 'own', 'own']\n"


def test_workers_have_the_arguments_and_flags_of_the_app(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text("""
import os, sys
def ask():
    names = ("PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONDEVMODE")
    found = [name for name in os.environ if name in names]
    flags = sys.flags.optimize, sys.flags.dev_mode, "error::UserWarning" in sys.warnoptions
    return sys.argv[1:], *flags, found
""")
    code = """
import ask
from ganger import ProcessPool
with ProcessPool(1) as pool: print(pool.submit(ask.ask).result())
"""
    out = script(
        tmp_path / "app.py", code, "one", "two", options=("-O", "-X", "dev", "-W", "error::UserWarning")
    )
    assert out == "(['one', 'two'], 1, True, True, [])\n"


def test_globals_of_main_that_functions_assign_stay_in_their_worker() -> None:
    code, out, errors = support.run("""
        model, state, seen, count, plain = None, {}, set(), 0, [1]
        def prepare(given):
            global model
            model = state["model"] = given
        def use(): return model, state
        class Holder:
            def use(self): return model
        def again(x):
            global count
            count += 1
            known = x in seen
            seen.add(x)
            return known, count
        def read(): return plain
        with ProcessPool(1, initializer=prepare, initargs=(5,)) as pool:
            say(*[pool.submit(each).result() for each in (use, Holder().use, lambda: model)])
            say([pool.submit(again, 1).result() for _ in range(3)], count, seen)
            say(pool.submit(read).result())
            plain.append(2)
            say(pool.submit(read).result())
            plain = "other"
            say(pool.submit(read).result())
            def read(): return "anew"
            say(pool.submit(read).result())
    """)
    assert (code, errors) == (0, "")
    assert out.splitlines() == [
        "(5, {'model': 5}) 5 5",
        "[(False, 1), (True, 2), (True, 3)] 0 set()",
        "[1]",
        "[1, 2]",
        "other",
        "anew",
    ]


def test_initializers_may_have_large_arguments_whoever_holds_the_pool() -> None:
    given = "x" * 1_000_000
    before = len(support.descriptors())

    def begun() -> list[concurrent.futures.Future[Any]]:
        pool = ProcessPool(2, initializer=importable.remember, initargs=(given,))
        return [pool.submit(importable.remembered, 0) for _ in range(4)]

    assert all(future.result() == given for future in begun())
    support.eventually(lambda: len(support.descriptors()) <= before + 20, "descriptors are closed")


def test_options_that_a_process_pool_has_not_are_refused() -> None:
    for wrong, meant in (("workers", "max_workers"), ("max_worker", "max_workers"), ("timout", "timeout")):
        options: Any = {wrong: 3}
        with pytest.raises(InvalidOption, match=f'unknown option "{wrong}".* mean "{meant}"'):
            ProcessPool(**options)
    target: Any = {"python": "workers/"}
    with pytest.raises(InvalidOption, match='unknown option "python"'):
        ProcessPool(**target)
    with pytest.raises(ValueError, match="max_workers must be greater than 0"):
        ProcessPool(0)
    with pytest.raises(TypeError, match="initializer must be a callable"):
        ProcessPool(1, initializer=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_pool_is_neither_pickled_nor_copied_and_it_is_said(act: Any) -> None:
    with ProcessPool(1) as processes, Pool(python=support.BASICS, workers=1) as pool:
        for one in (processes, pool):
            with pytest.raises(TypeError, match="belongs to the process that made it"):
                act(one)
        assert processes.submit(abs, -1).result() == 1
        assert pool.call("add", {"a": 1}) == 2


def test_what_cannot_be_sent_is_said_with_what_helps() -> None:
    from ganger import InvalidInput

    with ProcessPool(1) as processes:
        with pytest.raises(InvalidInput, match="a function or its arguments cannot be pickled: ") as caught:
            processes.submit(id, threading.Lock())
        assert "cloudpickle" not in str(caught.value)
        with pytest.raises(InvalidInput, match=r"input cannot be read: .*TypeError: .*missing"):
            processes.submit(repr, importable.Unreadable(1, 2)).result()


def test_who_awaits_a_call_without_asyncio_is_told_what_to_do() -> None:
    with ProcessPool(1) as processes:
        future = processes.submit(time.sleep, 1.0)
        awaiting = future.__await__()
        with pytest.raises(RuntimeError, match=r"no running event loop: .* have a thread wait"):
            next(awaiting)
