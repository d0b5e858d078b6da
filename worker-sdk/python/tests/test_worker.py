"""A real worker process: the rules of the protocol that can be seen from outside."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ganger_worker.protocol import Encoding, Flag, Kind
from host import Host, frame, pack, wait_until, write

CODE = """
    import asyncio, os, sys, threading, time
    from ganger_worker import action, context, shutdown, startup

    @startup
    def first():
        print("first", flush=True)

    @startup
    async def second():
        await asyncio.sleep(0)
        print("second", flush=True)

    @shutdown
    async def bye():
        print("bye", flush=True)

    @action(summary="Adds", idempotent=True, timeout="1.5s", weight=7, exclusive="node", coefficient=2)
    def add(a: int, b: int = 2) -> int:
        return a + b

    @action
    async def later(x):
        await asyncio.sleep(0)
        return x

    @action
    def same(x):
        return x

    @action
    def boom(text: str = "bad"):
        raise ValueError(text)

    @action
    def leave(code):
        sys.exit(code)

    @action
    async def leave_async(code):
        await asyncio.sleep(0)
        sys.exit(code)

    @action
    def interrupt():
        raise KeyboardInterrupt

    @action
    def base():
        raise GeneratorExit("odd")

    @action
    def unencodable():
        return {"items": [0, threading.Lock()]}

    @action
    def spin(path):
        open(path, "w").close()
        while not context.cancelled:
            pass
        context.check()

    @action
    def spin_forever(path):
        open(path, "w").close()
        while True:
            pass

    @action
    def finish_anyway(path):
        open(path, "w").close()
        while not context.cancelled:
            time.sleep(0.001)
        return "done"

    @action
    async def sleep(path):
        open(path, "w").close()
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            open(path + ".cleaned", "w").close()

    @action
    async def stubborn(path):
        open(path, "w").close()
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            return "stayed"

    @action
    async def cancels_itself():
        raise asyncio.CancelledError

    @action
    def seen():
        return [context.function, context.attempt, context.call, context.remaining, dict(context.trace),
                context.pool, context.worker, context.device]

    @action
    def thread_name():
        return threading.current_thread().name

    @action
    async def loop_thread():
        return threading.current_thread().name

    @action
    async def leaves_tasks():
        kept.append(asyncio.create_task(asyncio.sleep(1000)))

    kept = []

    @action
    def text(n: int):
        return "x" * n

    @action
    def numbers(n: int):
        yield from range(n)

    @action
    async def numbers_async(n: int):
        for i in range(n):
            yield i

    @action
    def environment():
        return [os.environ.get(name) for name in ("GANGER_DATA_FD", "GANGER_CONTROL_FD")]
    """


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return write(tmp_path, "prices.py", CODE)


@pytest.fixture(params=[1, 4], ids=["one at a time", "four"])
def host(code: Path, request: pytest.FixtureRequest) -> Host:
    with Host.start(code, concurrency=request.param) as started:
        started.ready()
        yield started


# --- start


def test_hello_comes_before_code_is_loaded(tmp_path: Path) -> None:
    code = write(tmp_path, "slow.py", "open('loaded', 'w').close()")
    with Host.start(code, cwd=tmp_path, greet=False) as host:
        hello = host.read(host.control)
        assert (hello.kind, hello.body["language"], hello.body["pid"]) == (
            Kind.HELLO,
            "python",
            host.process.pid,
        )
        assert not (tmp_path / "loaded").exists()


def test_contract(code: Path) -> None:
    with Host.start(code) as host:
        contract = next(found for found in host.ready() if found["name"] == "add")
        assert contract == {
            "name": "add",
            "kind": "value",
            "summary": "Adds",
            "idempotent": True,
            "slots": 1,
            "weight": 7,
            "coefficient": 2.0,
            "exclusive": "node",
            "timeout_ms": 1500,
            "input": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
                "required": ["a"],
                "additionalProperties": False,
                "x-positional": ["a", "b"],
            },
            "output": {"type": "integer"},
        }


def test_a_missing_module_is_told_with_the_python_that_misses_it(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import nothing_like_this")
    with Host.start(tmp_path / "bad.py") as host:
        what, _, python = host.next().body["message"].partition(" (this Python is ")
        assert what == "No module named 'nothing_like_this'"
        assert Path(python.removesuffix(")")).samefile(sys.executable)
        assert host.exit_code() == 1


def test_hooks_run_in_order_before_ready_and_after_the_last_call(host: Host) -> None:
    assert host.result("add", {"a": 1}) == 3
    host.stop()
    assert host.exit_code() == 0
    assert host.output() == ("first\nsecond\nbye\n", "")


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("def broken(:\n  pass", "SyntaxError", "def broken(:"),
        ("import nothing_like_this", "ModuleNotFoundError", "import nothing_like_this"),
        (
            "from ganger_worker import startup\n@startup\ndef f():\n    raise OSError('no model')",
            "OSError",
            "no model",
        ),
        (
            "from ganger_worker import startup\n@startup\nasync def f():\n    raise OSError('x')",
            "OSError",
            "line 4",
        ),
        ("import sys\nsys.exit(3)", "SystemExit", "sys.exit(3)"),
    ],
)
def test_a_failing_start_is_told_with_its_traceback(tmp_path: Path, text: str, kind: str, shown: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with Host.start(tmp_path / "bad.py") as host:
        error = host.next()
        assert (error.kind, error.seq, error.body["code"], error.body["type"]) == (
            18,
            0,
            "START_FAILED",
            kind,
        )
        assert shown in error.body["traceback"]
        assert "ganger_worker/" not in error.body["traceback"]
        assert "importlib" not in error.body["traceback"]
        assert host.exit_code() == 1


def test_a_target_that_is_not_there(tmp_path: Path) -> None:
    with Host.start(tmp_path / "none.py") as host:
        assert "none.py" in host.next().body["message"]


def test_a_version_that_was_not_offered(code: Path) -> None:
    with Host.start(code, version=2) as host:
        assert host.exit_code() == 70
        assert host.output()[1] == "ganger_worker: version 2 was not offered\n"


def test_without_a_host_it_says_so(tmp_path: Path) -> None:
    import subprocess

    from host import START

    ran = subprocess.run([sys.executable, START, "x.py"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 64
    assert "GANGER_ENDPOINT" in ran.stderr


def test_tasks_that_are_left_make_no_noise(host: Host) -> None:
    host.result("leaves_tasks")
    host.stop()
    assert host.exit_code() == 0
    assert host.output()[1] == ""


# --- calls


def test_results(host: Host) -> None:
    assert host.result("add", {"a": 1, "b": 5}) == 6
    assert host.result("prices.add", {"a": 1}) == 3
    assert host.result("later", {"x": [1, None]}) == [1, None]
    assert host.items("numbers", {"n": 3}) == [0, 1, 2]
    assert host.items("numbers_async", {"n": 3}) == [0, 1, 2]


def test_the_input_is_refused_before_the_function_runs(host: Host) -> None:
    error = host.error("add", {"a": "one"})
    assert (error["code"], error["path"]) == ("INVALID_INPUT", "$.a")
    assert (
        host.error("add", {"aa": 1})["message"]
        == "$.aa: the function has no parameter 'aa'; did you mean 'a'?"
    )
    assert host.answer(host.send_call("add", b"\xc1")).body["code"] == "INVALID_INPUT"
    assert host.answer(host.send_call("add", b"\x81\x01\x02")).body["path"] == "$"


def test_no_such_function(host: Host) -> None:
    error = host.error("ad")
    assert (error["code"], error["message"]) == (
        "NO_SUCH_FUNCTION",
        "no function 'ad'; the nearest name is 'add'",
    )


def test_an_unknown_name_is_not_repeated_at_any_length(host: Host) -> None:
    message = host.error("ä" * 200)["message"]
    assert message.startswith(f"no function '{'ä' * 200}'; ")
    message = host.error("ä" * 1_000_000)["message"]
    assert message.startswith(f"no function '{'ä' * 200}…'; ")


def test_an_error_of_the_function(host: Host) -> None:
    error = host.error("boom", {"text": "no"})
    assert (error["code"], error["type"], error["message"]) == ("CALL_FAILED", "ValueError", "no")
    lines = error["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith("in boom")
    assert lines[-1] == "ValueError: no"


@pytest.mark.parametrize("name", ["interrupt", "base", "cancels_itself"])
def test_exceptions_outside_exception_fail_the_call_only(host: Host, name: str) -> None:
    assert host.error(name)["code"] == "CALL_FAILED"
    assert host.result("add", {"a": 1}) == 3


def test_an_unencodable_result(host: Host) -> None:
    error = host.error("unencodable")
    assert (error["code"], error["path"]) == ("INVALID_RESULT", "$.items[1]")
    assert error["message"] == "$.items[1]: object of type '_thread.lock'"
    assert host.result("add", {"a": 1}) == 3


@pytest.mark.parametrize("name", ["leave", "leave_async"])
@pytest.mark.parametrize(("given", "status"), [(0, 0), (7, 7), (None, 0)])
def test_sys_exit_ends_the_worker_with_that_code(
    host: Host, name: str, given: int | None, status: int
) -> None:
    host.send_call(name, pack({"code": given}))
    assert host.exit_code() == status
    assert "Traceback" not in host.output()[1]


def test_what_a_function_sees(host: Host) -> None:
    seq = host.send_call("seen", attempt=3, timeout_ms=60_000, context={"traceparent": "00-1"})
    name, attempt, number, remaining, trace, pool, worker, device = host.answer(seq).value
    assert (name, attempt, number) == ("seen", 3, seq)
    assert 0 < remaining <= 60
    assert (trace, pool, worker, device) == ({"traceparent": "00-1"}, "prices", 3, None)
    assert host.result("seen")[3:5] == [None, {}]


def test_raw_bytes_both_ways(host: Host) -> None:
    got = host.answer(host.send_call("same", b"\x00\xff" * 10, Encoding.RAW))
    assert got.flags & Flag.ENCODING == Encoding.RAW
    assert got.payload == b"\x00\xff" * 10


def test_large_payloads_both_ways(host: Host) -> None:
    payload = os.urandom(5_000_000)
    assert host.answer(host.send_call("same", payload, Encoding.RAW)).payload == payload
    assert host.result("same", {"x": [payload]}) == [payload]


def test_a_payload_in_chunks(host: Host) -> None:
    payload = os.urandom(1_000_000)
    host.seq += 1
    first = len(payload).to_bytes(8, "little") + payload[:1000]
    flags = Flag.CRITICAL | Flag.MORE | Encoding.RAW
    host.data.sendall(frame(Kind.CALL, host.seq, pack(["same"]), first, flags))
    for start in range(1000, len(payload), 300_000):
        more = Flag.MORE if start + 300_000 < len(payload) else 0
        host.data.sendall(frame(Kind.CHUNK, host.seq, b"", payload[start : start + 300_000], more))
    assert host.answer(host.seq).payload == payload


def test_a_result_beyond_the_limit(code: Path) -> None:
    with Host.start(code, max_payload=1000) as host:
        host.ready()
        assert host.error("text", {"n": 2000})["code"] == "PAYLOAD_TOO_LARGE"
        assert (
            host.answer(host.send_call("same", b"x" * 5000, Encoding.RAW)).body["code"] == "PAYLOAD_TOO_LARGE"
        )
        assert host.result("add", {"a": 1}) == 3


def test_where_calls_run(code: Path) -> None:
    with Host.start(code) as one, Host.start(code, concurrency=2) as two:
        one.ready(), two.ready()
        assert one.result("thread_name") == one.result("loop_thread") == "MainThread"
        assert two.result("thread_name").startswith("ganger-call-")
        assert two.result("loop_thread") == "MainThread"


def test_calls_run_side_by_side(code: Path, tmp_path: Path) -> None:
    with Host.start(code, concurrency=3) as host:
        host.ready()
        marks = [str(tmp_path / f"mark{index}") for index in range(3)]
        seqs = [
            host.send_call(name, pack(mark))
            for name, mark in zip(["spin", "sleep", "spin"], marks, strict=True)
        ]
        wait_until(lambda: all(Path(mark).exists() for mark in marks))
        for seq in reversed(seqs):
            host.cancel(seq)
            assert host.answer(seq).body["code"] == "CANCELLED"


def test_many_calls_at_once_all_come_back(code: Path) -> None:
    with Host.start(code, concurrency=8) as host:
        host.ready()
        for _ in range(50):
            seqs = [host.send_call(("same", "later")[i % 2], pack({"x": i})) for i in range(8)]
            assert [host.answer(seq).value for seq in seqs] == list(range(8))


# --- cancel


def test_cancel_reaches_a_busy_function(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    seq = host.send_call("spin", pack(str(mark)))
    wait_until(mark.exists)
    host.cancel(seq, "timeout")
    error = host.answer(seq).body
    assert (error["code"], error["message"]) == ("CANCELLED", "cancelled (timeout)")
    assert host.result("add", {"a": 1}) == 3


def test_cancel_interrupts_a_coroutine_which_may_clean_up(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    seq = host.send_call("sleep", pack(str(mark)))
    wait_until(mark.exists)
    host.cancel(seq)
    host.cancel(seq)
    assert host.answer(seq).body["code"] == "CANCELLED"
    assert (tmp_path / "mark.cleaned").exists()
    assert host.result("later", {"x": 1}) == 1


@pytest.mark.parametrize(("name", "value"), [("finish_anyway", "done"), ("stubborn", "stayed")])
def test_a_call_may_finish_in_spite_of_a_cancel(host: Host, tmp_path: Path, name: str, value: str) -> None:
    mark = tmp_path / "mark"
    seq = host.send_call(name, pack(str(mark)))
    wait_until(mark.exists)
    host.cancel(seq)
    assert host.answer(seq).value == value


def test_a_cancel_that_overtakes_its_call(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    running = host.send_call("spin", pack(str(mark)))
    wait_until(mark.exists)
    host.cancel(running + 1)
    host.cancel(running)
    # Control is read in order: once the second cancel has had its effect, the first one is known.
    assert host.answer(running).body["code"] == "CANCELLED"
    assert host.error("add", {"a": 1})["message"] == "cancelled before it started (cancel)"
    assert host.result("add", {"a": 1}) == 3


# --- life


def test_ping(host: Host) -> None:
    seq = host.ping()
    assert (host.next().kind, seq) == (Kind.PONG, seq)


def test_stop_waits_for_running_calls(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    seq = host.send_call("spin", pack(str(mark)))
    wait_until(mark.exists)
    host.stop()
    host.cancel(seq)
    assert host.answer(seq).body["code"] == "CANCELLED"
    assert host.exit_code() == 0
    assert host.output()[0].endswith("bye\n")


def begin_in_chunks(host: Host) -> int:
    host.seq += 1
    first = (2).to_bytes(8, "little") + b"\x91"
    host.data.sendall(frame(Kind.CALL, host.seq, pack(["same"]), first, Flag.CRITICAL | Flag.MORE))
    return host.seq


def test_stop_waits_for_a_call_whose_chunks_are_under_way(host: Host) -> None:
    seq = begin_in_chunks(host)
    host.stop()
    host.data.sendall(frame(Kind.CHUNK, seq, b"", b"\x07"))
    assert host.answer(seq).value == [7]
    assert host.exit_code() == 0
    assert host.output()[0].endswith("bye\n")


@pytest.mark.parametrize("more", [b"", frame(Kind.CHUNK, 1, b"", b"\x07")], ids=["nothing", "a late chunk"])
def test_a_cancel_amid_chunks_ends_the_last_call_before_a_stop(host: Host, more: bytes) -> None:
    seq = begin_in_chunks(host)
    host.stop()
    host.cancel(seq, "stop")
    assert host.answer(seq).body["code"] == "CANCELLED"
    try:
        host.data.sendall(more)
    except OSError:
        pass  # it may be gone
    assert host.exit_code() == 0
    assert host.output()[0].endswith("bye\n")


@pytest.mark.parametrize("lane", ["data", "control"])
@pytest.mark.parametrize("name", ["spin_forever", "sleep", None])
def test_the_worker_ends_at_once_when_a_lane_ends(
    host: Host, tmp_path: Path, lane: str, name: str | None
) -> None:
    if name is not None:
        mark = tmp_path / "mark"
        host.send_call(name, pack(str(mark)))
        wait_until(mark.exists)
    getattr(host, lane).close()
    host.exit_code()
    out, err = host.output()
    assert "bye" not in out
    assert err == ""


def test_a_lane_that_ends_while_code_is_loaded(tmp_path: Path) -> None:
    code = write(tmp_path, "slow.py", "open('loading', 'w').close()\nwhile True: pass")
    with Host.start(code, cwd=tmp_path) as host:
        wait_until((tmp_path / "loading").exists)
        host.data.close()
        host.exit_code()


@pytest.mark.parametrize(
    ("lane", "data"),
    [
        ("data", frame(Kind.CANCEL, 1)),
        ("control", frame(Kind.PING, 1)),
        ("data", frame(200, 1, flags=Flag.CRITICAL)),
        ("data", frame(Kind.CALL, 1, b"\x93")),
        ("data", frame(Kind.CHUNK, 9)),
    ],
)
def test_a_violation_ends_the_worker_with_70_and_one_line(host: Host, lane: str, data: bytes) -> None:
    getattr(host, lane).sendall(data)
    assert host.exit_code() == 70
    error = host.output()[1]
    assert error.startswith("ganger_worker: ")
    assert error.count("\n") == 1


def test_an_unknown_kind_is_skipped(host: Host) -> None:
    host.data.sendall(frame(200, 9, pack([1]), b"x" * 400_000))
    host.control.sendall(frame(201, 9, pack([1]), b"x"))
    assert host.result("add", {"a": 1}) == 3


def test_the_environment_is_clean(host: Host) -> None:
    assert host.result("environment") == [None, None]


def test_ctrl_c_by_hand_makes_no_noise(code: Path) -> None:
    with Host.start(code) as host:
        host.ready()
        os.kill(host.process.pid, signal.SIGINT)
        assert host.exit_code() == 130
        assert host.output()[1] == ""


def test_attached_by_hand(code: Path, tmp_path: Path) -> None:
    import socket
    import subprocess

    from host import START

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    variables = {**os.environ, "GANGER_ENDPOINT": str(tmp_path / "s"), "GANGER_TOKEN": "secret"}
    process = subprocess.Popen([sys.executable, START, code], env=variables, stdout=subprocess.PIPE)
    lanes = {}
    host = Host(process, listener, listener)
    sessions = set()
    for _ in range(2):
        connection, _ = listener.accept()
        got = host.read(connection)
        assert (got.kind, got.body["token"]) == (Kind.ATTACH, "secret")
        lanes[got.body["lane"]] = connection
        sessions.add(got.body["session"])
    assert len(sessions) == 1
    host.data, host.control = lanes["data"], lanes["control"]
    assert host.read(host.control).kind == Kind.HELLO
    from host import welcome_body

    host.control.sendall(frame(Kind.WELCOME, body=pack(welcome_body()), flags=Flag.CRITICAL))
    host.ready()
    assert host.result("add", {"a": 1}) == 3
    host.stop()
    assert process.wait(30) == 0
    listener.close()


def test_a_worker_that_cannot_attach_says_why(code: Path, tmp_path: Path) -> None:
    import socket
    import subprocess

    from host import START

    address = str(tmp_path / "s")
    variables = {**os.environ, "GANGER_ENDPOINT": address, "GANGER_TOKEN": "wrong"}

    def attach() -> subprocess.Popen[str]:
        command = [sys.executable, START, str(code)]
        return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)

    nobody = attach()
    _, said = nobody.communicate(timeout=30)
    assert (nobody.returncode, said) == (
        64,
        f"ganger_worker: cannot attach to {address}: No such file or directory\n",
    )

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        refused = attach()
        lanes = [listener.accept()[0] for _ in range(2)]
        for lane in lanes:
            assert lane.recv(4096)
        for lane in lanes:
            lane.close()
        _, said = refused.communicate(timeout=30)
    assert refused.returncode == 1
    assert said.startswith(f"ganger_worker: cannot attach to {address}: ")
    assert "is the token right?" in said
