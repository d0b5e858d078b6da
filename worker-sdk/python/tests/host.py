"""A tiny host: starts a worker over socket pairs and speaks the protocol to it, frame by frame."""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ganger_worker import messagepack
from ganger_worker.protocol import HEADER, HEADER_SIZE, Encoding, Flag, Kind, frame

SDK = Path(__file__).resolve().parents[1]
START = SDK / "ganger_worker_start.py"
LIMIT_S = 30


@dataclass
class Got:
    kind: int
    flags: int
    seq: int
    body: Any
    payload: bytes

    @property
    def value(self) -> Any:
        encoding = self.flags & Flag.ENCODING
        if encoding == Encoding.RAW:
            return self.payload
        if encoding == Encoding.PICKLE:
            return pickle.loads(self.payload)
        return messagepack.decode(self.payload)


@dataclass
class Host:
    """``with Host.start(target) as host: host.ready(); host.call('fn', value).value``"""

    process: subprocess.Popen[bytes]
    data: socket.socket
    control: socket.socket
    seq: int = 0
    kept: list[Got] = field(default_factory=list)
    chunks: dict[int, Got] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        target: str | Path,
        python: list[str] | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        welcome: dict[str, Any] | None = None,
        greet: bool = True,
        inherit: tuple[int, ...] = (),
        **settings: Any,
    ) -> Host:
        ours_data, theirs_data = socket.socketpair()
        ours_control, theirs_control = socket.socketpair()
        fds = (theirs_data.fileno(), theirs_control.fileno())
        variables = {
            **os.environ,
            "GANGER_DATA_FD": str(fds[0]),
            "GANGER_CONTROL_FD": str(fds[1]),
            "PYTHONUNBUFFERED": "1",
            **(env or {}),
        }
        process = subprocess.Popen(
            [*(python or [sys.executable, str(START)]), str(target)],
            pass_fds=(*fds, *inherit),
            env=variables,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs_data.close()
        theirs_control.close()
        host = cls(process, ours_data, ours_control)
        for sock in (ours_data, ours_control):
            sock.settimeout(LIMIT_S)
        if greet:
            host.hello = host.read(ours_control)
            host.control.sendall(frame(Kind.WELCOME, body=pack(welcome or welcome_body(**settings)), flags=1))
        return host

    # --- frames

    def read(self, sock: socket.socket | None = None) -> Got:
        sock = sock or self.data
        head = receive(sock, HEADER_SIZE)
        length, body_length, kind, flags, _, seq = HEADER.unpack(head)
        body = receive(sock, body_length)
        payload = receive(sock, length - body_length)
        return Got(kind, flags, seq, messagepack.decode(body) if body else None, payload)

    def next(self) -> Got:
        """The next frame of data, chunks put together."""
        while True:
            got = self.read()
            if got.kind == Kind.CHUNK:
                first = self.chunks[got.seq]
                first.payload += got.payload
                if not got.flags & Flag.MORE:
                    whole = self.chunks.pop(got.seq)
                    assert int.from_bytes(whole.payload[:8], "little") == len(whole.payload) - 8
                    whole.payload = whole.payload[8:]
                    return whole
            elif got.flags & Flag.MORE:
                self.chunks[got.seq] = got
            else:
                return got

    def expect(self, kind: int, seq: int | None = None) -> Got:
        """The next frame of this kind; others are kept in ``kept``."""
        while True:
            got = self.next()
            if got.kind == kind and (seq is None or got.seq == seq):
                return got
            self.kept.append(got)

    def ready(self) -> list[dict[str, Any]]:
        got = self.next()
        while got.kind == Kind.LOG:
            self.kept.append(got)
            got = self.next()
        assert got.kind == Kind.READY, got
        return got.body["functions"]

    def send_call(
        self, function: str, payload: bytes = b"\xc0", flags: int = Encoding.MESSAGEPACK, **fields: Any
    ) -> int:
        self.seq += 1
        names = ("attempt", "timeout_ms", "shape", "context")
        defaults = (1, None, 0, None)
        body = [function, *(fields.get(name, default) for name, default in zip(names, defaults, strict=True))]
        self.data.sendall(frame(Kind.CALL, self.seq, pack(body), payload, Flag.CRITICAL | flags))
        return self.seq

    def answer(self, seq: int) -> Got:
        """The frame that ends a call."""
        for got in self.kept:
            if got.seq == seq and got.kind in (Kind.RESULT, Kind.ERROR):
                self.kept.remove(got)
                return got
        while True:
            got = self.next()
            if got.kind in (Kind.RESULT, Kind.ERROR) and got.seq == seq:
                return got
            self.kept.append(got)

    def call(self, function: str, value: Any = None, **fields: Any) -> Got:
        return self.answer(self.send_call(function, pack(value), **fields))

    def result(self, function: str, value: Any = None, **fields: Any) -> Any:
        got = self.call(function, value, **fields)
        assert got.kind == Kind.RESULT, got.body
        return got.value

    def error(self, function: str, value: Any = None, **fields: Any) -> dict[str, Any]:
        got = self.call(function, value, **fields)
        assert got.kind == Kind.ERROR, got
        return got.body

    # --- streams

    def item(self, seq: int) -> Any:
        """The value of the next item of a call."""
        for got in self.kept:
            if got.kind == Kind.ITEM and got.seq == seq:
                self.kept.remove(got)
                return got.value
        return self.expect(Kind.ITEM, seq).value

    def items(self, function: str, value: Any = None, **fields: Any) -> list[Any]:
        """All items of a call that ends well. Gives no credit."""
        seq = self.send_call(function, pack(value), **fields)
        end = self.answer(seq)
        assert end.kind == Kind.RESULT, end.body
        return self.kept_items(seq)

    def kept_items(self, seq: int) -> list[Any]:
        """The values of all items of a call that have been read in passing."""
        found = [got for got in self.kept if got.kind == Kind.ITEM and got.seq == seq]
        self.kept = [got for got in self.kept if got not in found]
        return [got.value for got in found]

    def credit(self, seq: int, items: int, size: int = 0) -> None:
        self.control.sendall(frame(Kind.CREDIT, seq, pack([items, size])))

    def input(self, seq: int, *items: Any) -> None:
        for item in items:
            self.data.sendall(frame(Kind.INPUT, seq, payload=pack(item)))

    def input_end(self, seq: int) -> None:
        self.data.sendall(frame(Kind.INPUT_END, seq))

    def credited(self, seq: int) -> tuple[int, int]:
        """What the next CREDIT of the worker gives."""
        got = self.read(self.control)
        assert (got.kind, got.seq) == (Kind.CREDIT, seq), got
        items, size = got.body
        return items, size

    def cancel(self, seq: int, reason: str = "cancel") -> None:
        self.control.sendall(frame(Kind.CANCEL, seq, pack([reason])))

    def ping(self) -> int:
        self.seq += 1
        self.data.sendall(frame(Kind.PING, self.seq))
        return self.seq

    def stop(self) -> None:
        body = pack({"reason": "shutdown", "timeout_ms": 5000})
        self.data.sendall(frame(Kind.STOP, body=body, flags=Flag.CRITICAL))

    # --- the process

    def exit_code(self) -> int:
        return self.process.wait(LIMIT_S)

    def output(self) -> tuple[str, str]:
        out, err = self.process.communicate(timeout=LIMIT_S)
        return out.decode(), err.decode()

    def close(self) -> None:
        self.data.close()
        self.control.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(LIMIT_S)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    hello: Any = None


def welcome_body(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "pool": "prices",
        "worker": 3,
        "generation": 0,
        "concurrency": 1,
        "max_payload": 1 << 32,
        "cancel_grace_ms": 2000,
        "stop_timeout_ms": 5000,
        **changes,
    }


def pack(value: Any) -> bytes:
    return messagepack.encode(value)


def receive(sock: socket.socket, count: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < count:
        piece = sock.recv(min(count - len(pieces), 1 << 20))
        if not piece:
            raise EOFError(f"the worker closed the lane after {len(pieces)} of {count} bytes")
        pieces += piece
    return bytes(pieces)


def write(folder: Path, name: str, code: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code))
    return path


def wait_until(condition: Any, limit_s: float = LIMIT_S) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.01)


def readable(sock: socket.socket) -> bool:
    return bool(select.select([sock], [], [], 0)[0])
