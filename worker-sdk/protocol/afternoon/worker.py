"""A whole Ganger worker without an SDK: what SPEC's chapter 11 builds, step by step.

    ganger call add '{"a": 1, "b": 2}' -- python3 worker.py
    ganger check -- python3 worker.py

It has no streams, no shared memory and no hooks: a worker may do without.
"""

from __future__ import annotations

import difflib
import os
import secrets
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from messagepack import DEEPEST_BODY, DEEPEST_VALUE, Malformed, Odd, pack, unpack

HEADER = struct.Struct("<QIBBHQ")
CALL, INPUT, INPUT_END, PING, STOP, CHUNK, RELEASE = range(1, 8)
READY, RESULT, ERROR, ITEM, PROGRESS, LOG, PONG = range(16, 23)
ATTACH, HELLO, WELCOME, CANCEL, CREDIT = range(32, 37)
ON_DATA, ON_CONTROL = (CALL, INPUT, INPUT_END, PING, STOP, CHUNK, RELEASE), (WELCOME, CANCEL, CREDIT)
EVERY_KIND = (*range(1, 8), *range(16, 23), *range(32, 37))
CRITICAL, MORE, SHARED, ENCODING, RAW = 0x01, 0x02, 0x04, 0x30, 0x10
LARGEST_BODY, LONGEST_MESSAGE, LONGEST_TRACEBACK = 16 << 20, 64 << 10, 256 << 10


class Violation(Exception):
    """The host, or whoever it is, does not keep the protocol (R40)."""


class Cancelled(Exception):
    """Somebody has given the call up."""


class InvalidInput(Exception):
    """A function's own check of its input; `path` says where."""

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


@dataclass
class Frame:
    kind: int
    flags: int
    seq: int
    body: bytes = b""
    payload: bytes = b""


# ---- step 1: frames off a lane and onto it


class Lane:
    def __init__(self, connection: socket.socket, kinds: tuple[int, ...]) -> None:
        self.connection, self.kinds = connection, kinds
        self.reader = connection.makefile("rb")
        self.lock = threading.Lock()

    def read(self) -> Frame:
        """The next frame of a known kind."""
        while True:
            length, body_length, kind, flags, _reserved, seq = HEADER.unpack(self.take(HEADER.size))
            if body_length > length:
                raise Violation("a header with more body than frame")
            if body_length > LARGEST_BODY:
                raise Violation(f"a body of {body_length} bytes")
            body, payload = self.take(body_length), self.take(length - body_length)
            if kind in self.kinds:
                return Frame(kind, flags, seq, body, payload)
            if kind in EVERY_KIND:
                raise Violation(f"a frame of kind {kind} on the wrong lane")
            if flags & CRITICAL:
                raise Violation(f"a critical frame of the unknown kind {kind}")

    def take(self, count: int) -> bytes:
        data = self.reader.read(count)
        if len(data) < count:
            gone()
        return data

    def send(
        self, kind: int, seq: int = 0, body: object = None, payload: bytes = b"", flags: int = 0
    ) -> None:
        packed = b"" if body is None else pack(body)
        head = HEADER.pack(len(packed) + len(payload), len(packed), kind, flags, 0, seq)
        with self.lock:
            try:
                self.connection.sendall(head + packed + payload)
            except OSError:
                gone()


def gone() -> NoReturn:
    """The host is gone (R1)."""
    os._exit(1)


def fields(frame: Frame, *kinds: tuple[type, ...]) -> list[Any]:
    """A body that is a list: as many fields as asked for, those that are missing nil."""
    body = unpack(frame.body, DEEPEST_BODY, lenient=True) if frame.body else []
    if not isinstance(body, list):
        raise Violation(f"a body of kind {frame.kind} that is no list")
    values = [*body[: len(kinds)], *[None] * (len(kinds) - len(body))]
    for value, kind in zip(values, kinds, strict=True):
        if value is not None and not isinstance(value, kind):
            raise Violation(f"a field of kind {frame.kind} is {value!r}")
    return values


def entries(frame: Frame) -> dict[str, Any]:
    """A body that is a map."""
    body = unpack(frame.body, DEEPEST_BODY, lenient=True) if frame.body else {}
    if not isinstance(body, dict):
        raise Violation(f"a body of kind {frame.kind} that is no map")
    return body


# ---- step 2: what a function sees


@dataclass
class Call:
    worker: Worker
    seq: int
    function: str
    attempt: int
    deadline: float | None
    shape: int
    trace: dict[str, str]
    cancelled: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled

    def remaining_ms(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic()) * 1000

    def log(self, level: str, message: str) -> None:
        self.worker.data.send(LOG, self.seq, [level, "worker", message])

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        self.worker.data.send(PROGRESS, self.seq, [float(done), total, note])


# ---- step 3: the worker


class Worker:
    def __init__(self, functions: dict[str, Callable[[Any, Call], Any]]) -> None:
        self.functions = functions
        self.data, self.control = lanes()
        self.welcomed = threading.Event()
        self.max_payload = 4 << 30
        self.lock = threading.Lock()
        self.running: dict[int, Call] = {}
        self.partial: dict[int, tuple[Frame, int, bytearray]] = {}
        self.cancelled_early: set[int] = set()
        self.highest = self.highest_partial = 0
        self.stopping = False

    def run(self) -> NoReturn:
        hello = {
            "min_version": 1,
            "max_version": 1,
            "sdk": "afternoon",
            "sdk_version": "1",
            "language": "python",
        }
        self.control.send(HELLO, 0, {**hello, "pid": os.getpid()})
        threading.Thread(target=self.guarded, args=(self.watch_control,), daemon=True).start()
        self.welcomed.wait()
        self.data.send(READY, 0, {"functions": self.contracts()})
        self.guarded(self.read_data)
        raise AssertionError("reading never ends")

    def contracts(self) -> list[dict[str, Any]]:
        return [{"name": name} for name in self.functions]

    def guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except (Violation, Malformed) as violation:
            print(f"protocol violation: {violation}", file=sys.stderr, flush=True)
            os._exit(70)

    def watch_control(self) -> None:
        """Cancels must be heard while functions run: a thread of its own (R27)."""
        while True:
            frame = self.control.read()
            if (frame.kind == WELCOME) == self.welcomed.is_set():
                raise Violation("WELCOME comes first, and once")
            if frame.kind == WELCOME:
                self.welcome(entries(frame))
            elif frame.kind == CANCEL:
                fields(frame, (str,))
                self.cancel(frame.seq)

    def welcome(self, welcome: dict[str, Any]) -> None:
        if welcome.get("version") != 1:
            raise Violation(f"version {welcome.get('version')} was not offered")
        self.max_payload = welcome.get("max_payload", self.max_payload)
        self.welcomed.set()

    def cancel(self, seq: int) -> None:
        with self.lock:
            call = self.running.get(seq)
            if call:
                call.cancelled.set()
            elif seq in self.partial:
                del self.partial[seq]
            elif seq > self.highest:
                self.cancelled_early.add(seq)
                return
            else:
                return
        if not call:
            self.fail(seq, "CANCELLED", "Cancelled", "cancelled before it came")
            self.leave_if_done()

    def read_data(self) -> None:
        while True:
            frame = self.data.read()
            if frame.kind in (CALL, PING):
                if frame.seq <= self.highest:
                    raise Violation(f"seq {frame.seq} after {self.highest}")
                with self.lock:
                    self.highest = frame.seq
            if frame.kind == PING:
                self.data.send(PONG, frame.seq)
            elif frame.kind == STOP:
                entries(frame)
                self.stopping = True
                self.leave_if_done()
            elif whole := self.assembled(frame):
                self.begin(whole)

    def assembled(self, frame: Frame) -> Frame | None:
        """Puts pieces together (R9, R10)."""
        if frame.flags & SHARED:
            raise Violation("SHARED was not agreed on")
        with self.lock:
            if frame.kind != CHUNK:
                if not frame.flags & MORE:
                    return frame
                if len(frame.payload) < 8 or frame.seq in self.partial:
                    raise Violation(f"a payload in pieces of seq {frame.seq} begins wrongly")
                self.highest_partial = max(self.highest_partial, frame.seq)
                (total,), first = struct.unpack("<Q", frame.payload[:8]), bytearray(frame.payload[8:])
            elif frame.seq not in self.partial:
                if frame.seq > self.highest_partial:
                    raise Violation(f"a piece of seq {frame.seq}, which never began")
                return None
            else:
                begun, total, first = self.partial.pop(frame.seq)
                first += frame.payload
                if frame.flags & MORE == 0:
                    if len(first) != total:
                        raise Violation(f"pieces of {len(first)} bytes, {total} were announced")
                    return Frame(begun.kind, begun.flags & ~MORE, begun.seq, begun.body, bytes(first))
                frame = begun
            if len(first) > total:
                raise Violation(f"pieces of more than the {total} bytes that were announced")
            if frame.seq not in self.cancelled_early:
                self.partial[frame.seq] = (frame, total, first)
                return None
        return Frame(frame.kind, frame.flags & ~MORE, frame.seq, frame.body)

    def begin(self, frame: Frame) -> None:
        if frame.kind != CALL:
            return  # input items that nobody reads (R51), memory that nobody shares
        name, attempt, timeout, shape, trace = fields(frame, (str,), (int,), (int,), (int,), (dict,))
        deadline = None if timeout is None else time.monotonic() + timeout / 1000
        call = Call(self, frame.seq, name or "", attempt or 1, deadline, shape or 0, trace or {})
        with self.lock:
            if frame.seq not in self.cancelled_early:
                self.running[frame.seq] = call
        if frame.seq not in self.running:
            self.fail(frame.seq, "CANCELLED", "Cancelled", "cancelled before it came")
        else:
            threading.Thread(target=self.perform, args=(call, frame), daemon=True).start()

    def perform(self, call: Call, frame: Frame) -> None:
        """One call, on a thread of its own. Whatever happens, it ends with one RESULT or ERROR (R8)."""
        function = self.functions.get(call.function)
        try:
            if function is None:
                self.fail(call.seq, "NO_SUCH_FUNCTION", "LookupError", self.nearest(call.function))
            else:
                self.answer(call, function(read_input(call, frame), call))
        except Cancelled:
            self.fail(call.seq, "CANCELLED", "Cancelled", "the call was cancelled")
        except (Malformed, InvalidInput) as error:
            path = getattr(error, "path", "$")
            self.fail(call.seq, "INVALID_INPUT", type(error).__name__, str(error), path=path)
        except Odd as error:
            self.fail(call.seq, "INVALID_RESULT", "TypeError", str(error), path=str(error).split(":")[0])
        except Exception as error:
            trace = traceback.format_exc()[-LONGEST_TRACEBACK // 4 :]
            self.fail(call.seq, "CALL_FAILED", type(error).__name__, str(error), traceback=trace)
        with self.lock:
            del self.running[call.seq]
        self.leave_if_done()

    def nearest(self, name: str) -> str:
        name = name if len(name) <= 200 else name[:200] + "…"
        near = difflib.get_close_matches(name, self.functions, 1, 0.0)
        return f"no function {name!r}" + (f"; the nearest is {near[0]!r}" if near else "")

    def answer(self, call: Call, value: object) -> None:
        raw = isinstance(value, bytes)
        payload = value if isinstance(value, bytes) else pack(value)
        if len(payload) > self.max_payload:
            text = f"a result of {len(payload)} bytes; the host takes {self.max_payload}"
            self.fail(call.seq, "PAYLOAD_TOO_LARGE", "ValueError", text)
        else:
            self.data.send(RESULT, call.seq, payload=payload, flags=RAW if raw else 0)

    def fail(self, seq: int, code: str, kind: str, message: str, **more: str) -> None:
        message = message.encode(errors="replace")[:LONGEST_MESSAGE].decode(errors="ignore")
        report = {"code": code, "type": kind, "message": message, "language": "python", **more}
        self.data.send(ERROR, seq, report)

    def leave_if_done(self) -> None:
        """After STOP the last answer is followed by the end (R35). Answers are written whole before (R24)."""
        with self.lock:
            done = self.stopping and not self.running and not self.partial
        if done:
            self.shut_down()
            sys.stdout.flush()
            with self.data.lock:
                os._exit(0)

    def shut_down(self) -> None:
        """Shutdown hooks would run here."""


def read_input(call: Call, frame: Frame) -> Any:
    encoding = frame.flags & ENCODING
    if encoding == RAW:
        return frame.payload
    if encoding:
        raise InvalidInput("an encoding that this worker does not read")
    value = unpack(frame.payload, DEEPEST_VALUE)
    if call.shape == 0:
        return value
    positional, named = value
    if len(positional) != 1 or named:
        raise InvalidInput("a function of this worker takes one value")
    return positional[0]


def lanes() -> tuple[Lane, Lane]:
    """Inherited ones (1.1), or those of an endpoint (1.2)."""
    names = ("GANGER_DATA_FD", "GANGER_CONTROL_FD", "GANGER_ENDPOINT", "GANGER_TOKEN")
    data, control, endpoint, token = (os.environ.pop(name, "") for name in names)
    if data:
        connections = [socket.socket(fileno=int(number)) for number in (data, control)]
    else:
        connections = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for connection in connections:
            connection.connect(endpoint)
    for connection in connections:
        connection.set_inheritable(False)
    both = Lane(connections[0], ON_DATA), Lane(connections[1], ON_CONTROL)
    session = secrets.token_hex(8)
    for lane, name in zip(both, ("data", "control"), strict=True):
        if not data:
            lane.send(ATTACH, 0, {"token": token, "lane": name, "session": session})
    return both


# ---- step 4: the functions


def add(terms: dict[str, float], call: Call) -> float:
    call.log("info", "adding")
    return terms["a"] + terms["b"]


if __name__ == "__main__":
    Worker({"add": add}).run()
