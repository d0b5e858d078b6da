"""Log records and progress as frames, and that logging cannot lock up."""

from __future__ import annotations

import logging
import socket
import textwrap
import threading
from pathlib import Path

import pytest

from ganger_worker import logs
from ganger_worker.protocol import Kind
from ganger_worker.transport import MAX_WAITING, Writer
from host import Got, Host, write

CODE = """
    import logging, threading, asyncio
    from ganger_worker import action, context, startup
    log = logging.getLogger("app.prices")

    @startup
    def begin():
        log.warning("starting")

    @action
    def talk():
        log.info("hello %s", "you", extra={"user": "ann", "thing": object(), "n": 3})
        log.debug("not shown")
        context.log.error("mine")
        try:
            1 / 0
        except ZeroDivisionError:
            log.exception("failed")
        context.progress(1, 2, "half")
        context.progress(2)

    @action
    async def talk_async():
        await asyncio.sleep(0)
        log.info("from a coroutine")

    @action
    def bad():
        log.info("%d", "no number")

    @action
    def many(n: int):
        for i in range(n):
            log.info("line %d", i)
    """


def said(host: Host, kind: int = Kind.LOG) -> list[Got]:
    return [got for got in host.kept if got.kind == kind]


def start(tmp_path: Path, concurrency: int = 1, code: str = CODE, **env: str) -> Host:
    return Host.start(write(tmp_path, "talk.py", code), concurrency=concurrency, env=env)


def test_records_reach_the_host_with_their_call(tmp_path: Path) -> None:
    for concurrency in (1, 3):
        with start(tmp_path, concurrency) as host:
            host.ready()
            host.result("talk")
            first, *rest = said(host)
            assert (first.seq, first.body[:3]) == (0, ["warning", "app.prices", "starting"])
            assert [got.seq for got in rest] == [1, 1, 1]
            assert rest[0].body[:3] == ["info", "app.prices", "hello you"]
            fields = rest[0].body[3]
            assert (fields["user"], fields["n"]) == ("ann", 3)
            assert fields["thing"].startswith("<object object")
            assert rest[1].body[:3] == ["error", "ganger.talk", "mine"]
            assert rest[2].body[2].startswith("failed\nTraceback")
            progress = said(host, Kind.PROGRESS)
            assert [got.body for got in progress] == [[1.0, 2.0, "half"], [2.0, None, None]]
            assert host.result("talk_async") is None
            assert said(host)[-1].body[2] == "from a coroutine"
            assert said(host)[-1].seq == 2


def test_the_level_can_be_set(tmp_path: Path) -> None:
    with start(tmp_path, GANGER_LOG_LEVEL="error") as host:
        host.ready()
        host.result("talk")
        assert [got.body[0] for got in said(host)] == ["error", "error"]


def test_handlers_of_the_users_own_are_left_alone(tmp_path: Path) -> None:
    with start(tmp_path, code="import logging\nlogging.basicConfig(level='DEBUG')\n" + _dedented()) as host:
        host.ready()
        host.result("talk")
        assert [got.body[1] for got in said(host)] == ["ganger.talk"]
        host.stop()
        host.exit_code()
        assert "INFO:app.prices:hello you" in host.output()[1]


def _dedented() -> str:
    return textwrap.dedent(CODE)


def test_a_record_that_cannot_be_made_fails_nothing(tmp_path: Path) -> None:
    with start(tmp_path) as host:
        host.ready()
        assert host.result("bad") is None


def test_all_records_come_before_the_result(tmp_path: Path) -> None:
    with start(tmp_path) as host:
        host.ready()
        host.result("many", {"n": 3000})
        assert [got.body[2] for got in said(host)[1:]] == [f"line {i}" for i in range(3000)]


LATE = """
    from ganger_worker import action, startup
    import importlib.util
    importlib.util.find_spec("logging")

    @startup
    def begin():
        {startup}

    @action
    def talk():
        import logging
        logging.basicConfig(level="DEBUG")
        logging.getLogger("late").info("said")
        return [type(logging.__loader__).__name__, type(logging.__spec__.loader).__name__]
    """


@pytest.mark.parametrize("first", ["pass", "import logging", "import asyncio"])
def test_logging_may_be_imported_at_any_time(tmp_path: Path, first: str) -> None:
    code = textwrap.dedent(LATE).replace("{startup}", first)
    with start(tmp_path, code=code) as host:
        host.ready()
        assert host.result("talk") == ["SourceFileLoader", "SourceFileLoader"]
        assert host.result("talk")
        assert [got.body[:3] for got in said(host)] == [["info", "late", "said"]] * 2
        host.stop()
        host.exit_code()
        assert host.output()[1] == ""


def test_posting_while_the_lock_is_held_does_not_wait_and_is_sent_afterwards() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        writer = Writer(ours.fileno())
        with writer._lock:
            writer.post(b"log")
            assert not _readable(theirs)
        writer.send(b"reply")
        assert theirs.recv(100) == b"logreply"


def test_waiting_records_are_bounded() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        writer = Writer(ours.fileno())
        with writer._lock:
            for _ in range(MAX_WAITING + 5):
                writer.post(b"x")
        assert writer.dropped == 5


def test_a_handler_takes_no_lock() -> None:
    sent: list[bytes] = []
    handler = logs.HostHandler(sent.append)
    assert handler.lock is None
    record = logging.LogRecord("a", logging.INFO, "", 0, "text", (), None)
    threads = [threading.Thread(target=handler.handle, args=(record,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 4


def _readable(sock: socket.socket) -> bool:
    import select

    return bool(select.select([sock], [], [], 0)[0])
