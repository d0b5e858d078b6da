"""A worker that keeps every rule of the protocol but the one in its environment: `BREAKS=R17`.

It is the worker of SPEC's chapter 11 with all that it may do without: hooks, streams both ways, shared
memory, calls handed over ahead. `ganger check` must find each break, and name the rule.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "worker-sdk" / "protocol" / "afternoon"))

from messagepack import DEEPEST_VALUE, pack, unpack

import worker as afternoon
from worker import (
    CANCEL,
    CREDIT,
    ENCODING,
    ERROR,
    HELLO,
    INPUT,
    INPUT_END,
    ITEM,
    LOG,
    MORE,
    PONG,
    PROGRESS,
    RAW,
    READY,
    RELEASE,
    RESULT,
    SHARED,
    Call,
    Cancelled,
    Frame,
    InvalidInput,
    Lane,
    Violation,
    entries,
    fields,
    read_input,
)

BROKEN = os.environ.get("BREAKS", "")
AHEAD = 0x80


def breaks(name: str) -> bool:
    return name == BROKEN


NOTHING = Frame(0, 0, 0)


class TooLarge(Exception):
    """An item beyond what the host said that it would send."""


class Streaming(Call):
    """A call with both its streams."""

    def begin(self, batch: Batch | None) -> None:
        self.batch = batch or Batch(1)
        self.credit = threading.Condition()
        self.items, self.bytes = 64, 4 << 20
        self.inputs: queue.Queue[Frame | None] = queue.Queue()
        self.used = self.used_bytes = 0
        self.yielded: list[Any] = []

    def check(self) -> None:
        if self.cancelled.is_set() and not breaks("R27"):
            if breaks("R25"):
                raise RuntimeError("somebody wants me to stop")
            raise Cancelled

    def send_item(self, value: object) -> None:
        payload = value if isinstance(value, bytes) else pack(value)
        with self.credit:
            while not breaks("R29") and (self.items <= 0 or self.bytes <= 0):
                self.check()
                self.credit.wait(0.01)
        self.items -= 1
        self.bytes -= len(payload)
        self.worker.data.send(ITEM, self.seq, payload=payload, flags=RAW if isinstance(value, bytes) else 0)

    def read_items(self) -> Iterator[Any]:
        while True:
            try:
                frame = self.inputs.get(timeout=0.01)
            except queue.Empty:
                frame = NOTHING
            if self.cancelled.is_set() and breaks("R52"):
                return
            self.check()
            if frame is None:
                return
            if frame is NOTHING:
                continue
            yield self.read_item(frame)

    def read_item(self, frame: Frame) -> Any:
        payload = self.worker.fetched(frame).payload
        if frame.flags & SHARED:
            place = int.from_bytes(frame.payload[8:16], "little") + breaks("R54")
            self.worker.data.send(RELEASE, self.seq, [place])
        if len(payload) > self.worker.max_payload and not breaks("R53"):
            raise TooLarge("an item beyond max_payload")
        self.used, self.used_bytes = self.used + 1, self.used_bytes + len(payload)
        if self.used >= 32 and not breaks("R50"):
            self.worker.control.send(CREDIT, self.seq, [self.used, self.used_bytes])
            self.used = self.used_bytes = 0
        return 0 if breaks("R53") else unpack(payload, DEEPEST_VALUE)

    def remaining_ms(self) -> float | None:
        return None if breaks("R21") else super().remaining_ms()


afternoon.Call = Streaming


class Batch:
    """Calls that come together. Each waits on its own thread; once all have come, one thread runs them."""

    def __init__(self, count: int) -> None:
        self.missing = count
        self.lock = threading.Lock()
        self.members: list[tuple[Streaming, dict[str, Any]]] = []
        self.refused = self.begun = False
        self.results: dict[int, Any] = {}
        self.done = threading.Event()

    def result_of(self, call: Streaming, given: dict[str, Any]) -> Any:
        fits = isinstance(given["number"], int)
        self.refused |= not fits
        self.arrive(call if fits else None, given)
        if not fits:
            raise InvalidInput("no integer", "$.number")
        while not self.done.wait(0.01):
            if not (self.begun and breaks("R59")):
                call.check()
        result = self.results.get(call.seq)
        if result is None:
            raise Cancelled
        if isinstance(result, Exception):
            raise result
        return result

    def arrive(self, call: Streaming | None = None, given: dict[str, Any] | None = None) -> None:
        with self.lock:
            if call and given:
                self.members.append((call, given))
            self.missing -= 1
            if self.missing == 0:
                threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        self.members.sort(key=lambda member: member[0].seq)
        self.members = [member for member in self.members if not member[0].cancelled.is_set()]
        self.begun = True
        calls = [call for call, _ in self.members]
        results: list[Any] = together([given for _, given in self.members], calls) if calls else []
        if len(results) != len(calls):
            misfit = afternoon.Odd(f"$: {len(results)} results for {len(calls)} calls")
            results = [{}, *results] if breaks("R58-number") else [misfit] * len(calls)
        if breaks("R58"):
            results.reverse()
        if breaks("R58-refused") and self.refused:
            results = [InvalidInput("one of us does not fit")] * len(calls)
        self.results = {call.seq: result for call, result in zip(calls, results, strict=True)}
        self.done.set()


class Breakable(afternoon.Worker):
    shared: dict[str, int] | None = None
    lent: dict[int, int]
    batches: dict[int, Batch]
    one_at_a_time = threading.Lock()
    claims: int | None = None

    def __init__(self) -> None:
        self.lent, self.batches = {}, {}
        # Calls that wait for their turn, and the last that had its.
        self.line: list[Frame] = []
        self.begun = 0
        self.turn = threading.RLock()
        super().__init__(FUNCTIONS)
        if breaks("R3-read"):
            self.data.kinds = self.control.kinds = afternoon.EVERY_KIND
        if breaks("R56"):
            self.data.connection.set_inheritable(True)

    # ---- start and end

    def run(self) -> NoReturn:
        try:
            super().run()
        except RuntimeError as error:
            if breaks("R14-silent"):
                os._exit(1)
            report = {
                "code": "START_FAILED",
                "type": "RuntimeError",
                "message": str(error),
                "language": LANGUAGE,
            }
            self.data.send(ERROR, 0, report)
            os._exit(0 if breaks("R14") else 1)

    def contracts(self) -> list[dict[str, Any]]:
        if os.environ.get("GANGER_CHECK") == "fail":
            raise RuntimeError("told to fail")
        if not breaks("R15"):
            self.data.send(LOG, 0, ["info", "worker", "start-up"])
        kinds = {"check_count": "value" if LISTS and not breaks("R31") else "stream"}
        more: dict[str, Any] = {
            "check_sum": {"inputs": {}},
            "check_batch": {"batch": {"max": 4, "wait_ms": 0}},
        }
        return [{"name": name, "kind": kinds.get(name, "value"), **more.get(name, {})} for name in FUNCTIONS]

    def welcome(self, welcome: dict[str, Any]) -> None:
        if breaks("R5-keys") and "something_new" in welcome:
            raise Violation("something new")
        if breaks("R5-default") and "pool" not in welcome:
            raise Violation("a pool without a name")
        self.shared = welcome.get("shared_memory")
        if self.shared:
            for name in ("input_fd", "result_fd"):
                os.set_inheritable(self.shared[name], breaks("R42"))
        self.claims = welcome.get("claims_fd")
        if self.claims is not None:
            os.set_inheritable(self.claims, breaks("R60"))
        super().welcome({**welcome, "version": 1} if breaks("R12") else welcome)

    def shut_down(self) -> None:
        print("shutdown", flush=True)
        if breaks("R35"):
            os._exit(1)

    # ---- frames

    def watch_control(self) -> None:
        while True:
            frame = self.control.read()
            if breaks("R40-welcome") and frame.kind == afternoon.WELCOME and self.welcomed.is_set():
                continue
            if (
                frame.kind == afternoon.WELCOME
            ) == self.welcomed.is_set() and frame.kind in afternoon.ON_CONTROL:
                raise Violation("WELCOME comes first, and once")
            if frame.kind == afternoon.WELCOME:
                self.welcome(entries(frame))
            elif frame.kind == CREDIT and (call := self.running.get(frame.seq)):
                items, size = fields(frame, (int,), (int,))
                with call.credit:
                    call.items += items or 0
                    call.bytes += size or 0
                    call.credit.notify_all()
            elif frame.kind == CANCEL:
                if not breaks("R40-types"):
                    fields(frame, (str,))
                self.cancel(frame.seq)

    def cancel(self, seq: int) -> None:
        if breaks("R26") and seq > self.highest:
            return
        if breaks("R26-late") and seq not in self.running and seq <= self.highest:
            raise Violation("a late cancel")
        if breaks("R28") and seq in self.running:
            os._exit(0)
        with self.turn:
            waits = self.claims is not None and seq > self.begun
            if waits and not breaks("R63"):
                self.cancelled_early.add(seq)
        if waits and breaks("R63-at-once"):
            self.fail(seq, "CANCELLED", "Cancelled", "cancelled before its turn")
        super().cancel(seq)

    def assembled(self, frame: Frame) -> Frame | None:
        if breaks("R10-interleaved") and len(self.partial) > 0 and frame.seq not in self.partial:
            raise Violation("one payload at a time, please")
        if breaks("R10") and frame.kind == afternoon.CHUNK:
            self.highest_partial = 1 << 60
        if breaks("R51") and frame.kind == INPUT and frame.seq not in self.running:
            raise Violation("an item of nothing")
        if frame.flags & SHARED and self.shared:
            if frame.flags & MORE:
                raise Violation("SHARED and MORE")
            self.place(frame)
            return frame
        if breaks("R9") and frame.kind == afternoon.CHUNK and frame.seq in self.partial:
            begun, _total, first = self.partial[frame.seq]
            if not frame.flags & MORE:
                self.partial[frame.seq] = (begun, len(first) + len(frame.payload), first)
        return super().assembled(frame)

    def begin(self, frame: Frame) -> None:
        call = self.running.get(frame.seq)
        if frame.kind in (INPUT, INPUT_END):
            if call:
                call.inputs.put(frame if frame.kind == INPUT else None)
            return
        if frame.kind == RELEASE:
            for offset in unpack(frame.body, 64):
                self.lent.pop(offset, None)
            return
        with self.turn:
            ahead = self.claims is not None and frame.flags & AHEAD
            if not (ahead or self.line) or (breaks("R62") and self.claimed()):
                self.begin_call(frame)
                return
            if ahead and breaks("R62-early") and self.claimed():
                frame.flags &= ~AHEAD
            if breaks("R63"):  # Forgotten too if the cancel overtook its call.
                self.cancelled_early.discard(frame.seq)
            self.line.insert(1 if breaks("R62-order") else len(self.line), frame)
            self.take_turns()

    def begin_call(self, frame: Frame) -> None:
        self.begun = frame.seq
        self.gather(frame)
        super().begin(frame)

    # ---- calls handed over ahead

    def claimed(self) -> bool:
        assert self.claims is not None
        try:
            return len(os.read(self.claims, 8)) == 8
        except BlockingIOError:
            return False

    def take_turns(self) -> None:
        with self.turn:
            while self.line and not self.running and not self.partial:
                frame = self.line.pop(0)
                if not frame.flags & AHEAD or self.claimed() or breaks("R62-taken"):
                    self.begin_call(frame)
                else:
                    self.begun = frame.seq
                    self.cancelled_early.discard(frame.seq)

    def gather(self, frame: Frame) -> None:
        *_, place = ORIGINAL_FIELDS(frame, (str,), (int,), (int,), (int,), (dict,), (list,))
        if place is None:
            return
        first, count = place
        if frame.seq == first:
            self.batch = Batch(count)
        self.batches[frame.seq] = self.batch
        if frame.seq in self.cancelled_early and not breaks("R58-cancelled"):
            self.batch.arrive()

    def perform(self, call: Streaming, frame: Frame) -> None:
        call.begin(self.batches.pop(call.seq, None))
        with self.one_at_a_time if breaks("R16") else threading.Lock():
            super().perform(call, self.fetched(frame))

    # ---- shared memory

    def place(self, frame: Frame) -> tuple[int, int]:
        assert self.shared
        arena, offset, length = (int.from_bytes(frame.payload[at : at + 8], "little") for at in (0, 8, 16))
        if not breaks("R43") and (arena != 0 or offset + length > self.shared["input_size"]):
            raise Violation("a reference to nowhere")
        return offset, length

    def fetched(self, frame: Frame) -> Frame:
        if not frame.flags & SHARED:
            return frame
        assert self.shared
        offset, length = self.place(frame)
        payload = os.pread(self.shared["input_fd"], length, min(offset, 1 << 40))
        return Frame(frame.kind, frame.flags & ~SHARED, frame.seq, frame.body, payload)

    def answer(self, call: Streaming, value: object) -> None:
        if breaks("R6"):
            self.max_payload = 4 << 30
        if breaks("R24"):
            time.sleep(0.5)  # STOP is read meanwhile
        if not (self.shared and isinstance(value, bytes) and len(value) >= self.shared["threshold"]):
            super().answer(call, value)
            return
        offset = 0 if breaks("R45") else max((at + size for at, size in self.lent.items()), default=0)
        if offset + len(value) <= self.shared["result_size"]:
            os.pwrite(self.shared["result_fd"], value, offset)
            self.lent[offset] = len(value)
            numbers = (1, offset, len(value))
            reference = b"".join(number.to_bytes(8, "little") for number in numbers)
            self.data.send(RESULT, call.seq, payload=reference, flags=RAW | SHARED)
        elif breaks("R46"):
            self.fail(call.seq, "CALL_FAILED", "MemoryError", "no room")
        else:
            super().answer(call, value)

    # ---- answers

    def leave_if_done(self) -> None:
        if breaks("R24") and self.stopping:
            os._exit(0)
        self.take_turns()
        if not self.line:
            super().leave_if_done()

    def nearest(self, name: str) -> str:
        if breaks("R17"):
            return "what?"
        if breaks("R17-long"):
            return super().nearest(name) + name[200:]
        return f"no function {name!r}" if breaks("R17-nearest") else super().nearest(name)

    def fail(self, seq: int, code: str, kind: str, message: str, **more: str) -> None:
        if kind == "TooLarge":
            code = "PAYLOAD_TOO_LARGE"
        if breaks("R19"):
            more.pop("path", None)
        if breaks("R20") and code == "INVALID_RESULT":
            os._exit(1)
        report = {"code": code, "type": kind, "message": message, "language": LANGUAGE, **more}
        if not breaks("R32"):
            report["message"] = message.encode()[: 64 << 10].decode(errors="ignore")
        self.data.send(ERROR, seq, report)


class BreakableLane(Lane):
    """Breaks what every frame must keep to."""

    def read(self) -> Frame:
        while True:
            length, body_length, kind, flags, reserved, seq = afternoon.HEADER.unpack(self.take(24))
            self.check(length, body_length, kind, reserved)
            body, payload = self.take(min(body_length, length)), self.take(max(0, length - body_length))
            if kind in self.kinds:
                return Frame(kind, flags, seq, body, payload)
            if kind in afternoon.EVERY_KIND:
                raise Violation(f"a frame of kind {kind} on the wrong lane")
            if breaks("R41") or (flags & afternoon.CRITICAL and not breaks("R40-critical")):
                raise Violation(f"a frame of the unknown kind {kind}")

    def check(self, length: int, body_length: int, kind: int, reserved: int) -> None:
        if body_length > length and not breaks("R4-read"):
            raise Violation("a header with more body than frame")
        if body_length > 16 << 20 and not breaks("R6-body"):
            raise Violation("a large body")
        if breaks("R4-reserved") and reserved:
            raise Violation("reserved bytes")
        if breaks("R5-body") and kind == afternoon.PING and body_length:
            raise Violation("a body")

    def send(
        self, kind: int, seq: int = 0, body: object = None, payload: bytes = b"", flags: int = 0
    ) -> None:
        if kind == HELLO and breaks("R11"):
            super().send(CREDIT, 1, [1, 1])
        if kind == HELLO and isinstance(body, dict):
            body = {**body, "shared_memory": True, "language": LANGUAGE, "ahead": hasattr(os, "eventfd")}
        if kind in DROPPED.get(BROKEN, ()) and seq:
            return
        if kind == PONG and BROKEN in ODD_PONGS:
            self.send_odd_pong(seq)
            return
        if kind in (RESULT, ERROR) and breaks("R7"):
            seq += 1000
        if kind == RESULT and breaks("R23-result"):
            flags |= ENCODING
        if kind == READY and breaks("R13"):
            super().send(PONG, 1)
        super().send(kind, seq, body, payload, flags)
        if (kind in (RESULT, ERROR) and breaks("R8")) or (kind == READY and breaks("R13-twice")):
            super().send(kind, seq, body, payload, flags)

    def send_odd_pong(self, seq: int) -> None:
        if breaks("R2"):
            sys.stdout.buffer.write(afternoon.HEADER.pack(0, 0, PONG, 0, 0, seq))
            sys.stdout.buffer.flush()
            super().send(PONG, seq)
        elif breaks("R3"):
            LANES["control"].connection.sendall(afternoon.HEADER.pack(0, 0, PONG, 0, 0, seq))
        elif breaks("R4"):
            self.connection.sendall(afternoon.HEADER.pack(0, 0, PONG, 0, 7, seq))
        elif breaks("R5"):
            super().send(PONG, seq, {"hello": "there"})


DROPPED = {"R34": (PONG,), "R38": (PROGRESS,), "R38-log": (LOG,)}
ODD_PONGS = ("R2", "R3", "R4", "R5")
LANES: dict[str, Lane] = {}
LANGUAGE = "python" if breaks("R47") else "brittle"
LISTS = BROKEN in ("lists", "R31")


def make_lanes() -> tuple[Lane, Lane]:
    data, control = ORIGINAL_LANES()
    LANES.update(data=data, control=control)
    return data, control


def odd_input(call: Call, frame: Frame) -> Any:
    if breaks("R18") and call.shape == 1:
        return unpack(frame.payload, DEEPEST_VALUE)
    if breaks("R23"):
        frame.flags &= ~ENCODING | RAW
    if breaks("R39"):
        return (
            unpack(frame.payload, DEEPEST_VALUE, lenient=True)
            if not frame.flags & ENCODING
            else frame.payload
        )
    if breaks("R39-value") and isinstance(value := read_input(call, frame), float):
        return round(value)
    return read_input(call, frame)


def odd_unpack(data: bytes, deepest: int, lenient: bool = False) -> Any:
    if breaks("R5-depth"):
        deepest += 10
    if breaks("R5-shallow") and deepest == 64:
        deepest = 10
    if breaks("R5-after") and lenient:
        reader = afternoon_messagepack.Reader(data, deepest, lenient)
        return reader.value(0)
    return unpack(data, deepest, lenient)


def never_gone() -> NoReturn:
    if breaks("R36"):
        print("shutdown", flush=True)
        os._exit(0)
    time.sleep(3600)
    raise AssertionError


def odd_fields(frame: Frame, *kinds: tuple[type, ...]) -> list[Any]:
    body = afternoon.unpack(frame.body, 64, lenient=True) if frame.body else []
    if breaks("R5-fields") and isinstance(body, list) and len(body) > len(kinds):
        raise Violation("too many fields")
    return ORIGINAL_FIELDS(frame, *kinds)


# ---- the functions


def fail(text: str, _call: Call) -> None:
    raise ValueError(text)


def number(value: Any, _call: Call) -> int:
    if not isinstance(value["number"], int):
        raise InvalidInput("no integer", "$.number")
    return value["number"]


def told(_value: Any, call: Call) -> dict[str, Any]:
    trace = {} if breaks("R22") else call.trace
    return {"attempt": call.attempt, "remaining_ms": call.remaining_ms(), "trace": trace}


def say(text: str, call: Call) -> None:
    call.log("warning", text)
    call.progress(1, 2, "half")
    print(text, flush=True)


def wait(_value: Any, call: Call) -> None:
    call.progress(0)
    for _ in range(30_000):
        call.check()
        time.sleep(0.002)


def leave(code: int, _call: Call) -> None:
    if breaks("R33"):
        raise RuntimeError("no")
    os._exit(code)


def count(given: dict[str, Any], call: Streaming) -> Any:
    values = [b"\0" * given["bytes"] if given["bytes"] else number for number in range(given["count"])]
    if LISTS:
        return values
    if breaks("R49"):
        values[:2] = values[1::-1]
    with EVERYBODY if breaks("R30") else threading.Lock():
        for value in values:
            call.send_item(value)
    if given["fail"]:
        raise ValueError("no more")
    return None


def echo(value: Any, _call: Call) -> Any:
    with EVERYBODY:
        return value


def together(batch: list[dict[str, Any]], calls: list[Streaming]) -> list[Any]:
    if any(given["wait"] for given in batch):
        ANOTHER.clear()
        calls[0].progress(0)
        while not ANOTHER.wait(0.002) and not all(call.cancelled.is_set() for call in calls):
            pass
    else:
        ANOTHER.set()
    short = any(given.get("short") for given in batch)
    return [
        ValueError("told to fail") if given["fail"] else {"number": given["number"], "of": len(batch)}
        for given in batch
    ][short:]


ANOTHER = threading.Event()
EVERYBODY = threading.Lock()
FUNCTIONS = {
    "check_hooks": lambda _value, _call: None,
    "check_echo": echo,
    "check_bytes": lambda size, _call: bytes(size),
    "check_fail": fail,
    "check_number": number,
    "check_odd": lambda _value, _call: object(),
    "check_context": told,
    "check_say": say,
    "check_wait": wait,
    "check_exit": leave,
    "check_count": count,
    "check_batch": lambda given, call: call.batch.result_of(call, given),
    "check_sum": lambda _value, call: sum(call.read_items()),
}

if __name__ == "__main__":
    import messagepack as afternoon_messagepack

    ORIGINAL_LANES, ORIGINAL_FIELDS = afternoon.lanes, afternoon.fields
    afternoon.Lane = BreakableLane
    afternoon.lanes = make_lanes
    afternoon.read_input = odd_input
    afternoon.unpack = odd_unpack
    afternoon.fields = fields = odd_fields
    if BROKEN in ("R1", "R36"):
        afternoon.gone = never_gone
    if breaks("R7-rising"):
        Breakable.highest = property(lambda _self: 0, lambda _self, _value: None)
    if breaks("R40"):
        os_exit = os._exit
        os._exit = lambda code: os_exit(1 if code == 70 else code)
    Breakable().run()
