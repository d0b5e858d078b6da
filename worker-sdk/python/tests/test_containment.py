"""What user code may do to its process without disturbing the lanes: fork, print, threads, big objects."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from host import Host, wait_until, write

CODE = """
    import ctypes, multiprocessing, os, subprocess, sys, threading, time, gc, weakref
    from concurrent.futures import ProcessPoolExecutor
    from ganger_worker import action, context

    print("from import", flush=True)

    @action
    def same(x):
        return x

    @action
    def prints():
        print("from python")
        libc = ctypes.CDLL(None)
        libc.puts(b"from c")
        libc.fflush(None)
        subprocess.run(["sh", "-c", "echo from grandchild; echo to stderr >&2"])
        thread = threading.Thread(target=print, args=("from thread",))
        thread.start()
        thread.join()

    @action
    def descriptors():
        script = "import os; print([n for n in range(3, 100) if os.path.exists(f'/proc/self/fd/{n}')])"
        command = [sys.executable, "-c", script]
        return subprocess.run(command, capture_output=True, text=True, close_fds=False).stdout

    @action
    def lanes():
        return sorted(fd for fd in range(3, 50) if os.path.exists(f"/proc/self/fd/{fd}") and
                      "socket" in os.readlink(f"/proc/self/fd/{fd}"))

    def child_work(queue):
        context.log.warning("from a forked child")
        queue.put(os.getpid())

    @action
    def forks():
        fork = multiprocessing.get_context("fork")
        queue = fork.Queue()
        process = fork.Process(target=child_work, args=(queue,))
        process.start()
        child = queue.get(timeout=20)
        process.join()
        return [child != os.getpid(), process.exitcode]

    @action
    def pool():
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as inner:
            return list(inner.map(abs, [-1, -2]))

    @action
    def returns_in_both(path):
        child = os.fork()
        if child == 0:
            return "from the child"
        os.waitpid(child, 0)
        return "from the parent"

    @action
    def exits_in_child():
        child = os.fork()
        if child == 0:
            sys.exit(5)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    @action
    def raises_in_child():
        child = os.fork()
        if child == 0:
            raise ValueError("in the child")
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    class Big(list):
        pass

    kept = []

    @action
    def holds(x: list):
        kept.append(weakref.ref(big := Big(range(1000))))
        return big

    @action
    def holds_in_error():
        big = Big(range(10))
        kept.append(weakref.ref(big))
        raise ValueError("with locals")

    waiting = threading.Thread
    @action
    def watch(path: str):
        # Looks from another thread while the main one waits for its next call.
        def look():
            end = time.monotonic() + 20
            while time.monotonic() < end:
                if all(ref() is None for ref in kept):
                    open(path, "w").close()
                    return
                time.sleep(0.01)
        threading.Thread(target=look, daemon=True).start()
    """


@pytest.fixture(params=[1, 3], ids=["one at a time", "three"])
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    with Host.start(write(tmp_path, "wild.py", CODE), concurrency=request.param) as started:
        started.ready()
        yield started


def test_prints_of_all_kinds_reach_stdout_and_disturb_nothing(host: Host) -> None:
    assert host.result("prints") is None
    assert host.result("same", {"x": 1}) == 1
    host.stop()
    assert host.exit_code() == 0
    out, err = host.output()
    assert sorted(out.splitlines()) == [
        "from c",
        "from grandchild",
        "from import",
        "from python",
        "from thread",
    ]
    assert err == "to stderr\n"


def test_grandchildren_inherit_no_lane(host: Host) -> None:
    assert len(host.result("lanes")) >= 2
    inherited = host.result("descriptors").strip()
    # Only what Python itself opened there: the listing's own descriptors are gone by then.
    assert inherited == "[]"


def test_a_child_made_by_multiprocessing(host: Host) -> None:
    assert host.result("forks") == [True, 0]
    assert not [got for got in host.kept if got.kind == 21]
    assert host.result("same", {"x": 1}) == 1


def test_a_pool_within_a_worker(host: Host) -> None:
    assert host.result("pool") == [1, 2]


def test_a_forked_child_that_comes_back_sends_nothing(host: Host) -> None:
    assert host.result("returns_in_both", "x") == "from the parent"
    assert host.result("raises_in_child") == 0
    assert host.result("exits_in_child") == 5
    assert host.result("same", {"x": 1}) == 1
    assert not host.kept


def test_the_last_input_result_and_error_are_let_go(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "gone"
    assert len(host.result("holds", [1, 2])) == 1000
    host.error("holds_in_error")
    host.result("watch", str(mark))
    wait_until(mark.exists)


def test_a_forked_child_that_lives_on_keeps_no_lane_open(tmp_path: Path) -> None:
    code = """
        import os, time
        from ganger_worker import action
        @action
        def leave_child():
            if os.fork() == 0:
                time.sleep(1000)
        """
    with Host.start(write(tmp_path, "code.py", code)) as host:
        host.ready()
        host.result("leave_child")
        os.kill(host.process.pid, 9)
        # End of file comes although the child lives: it closed its copies.
        assert host.data.recv(1) == b""
        assert host.control.recv(1) == b""
