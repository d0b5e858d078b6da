"""Plays the transcripts: what the session and the execution of calls want must be what each file says."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import notation
from ganger_worker import context, endpoint, values
from ganger_worker.actions import action
from ganger_worker.arena import Arenas, Lent
from ganger_worker.batching import Run
from ganger_worker.call import Call
from ganger_worker.context import Cancelled, InvalidItem, current
from ganger_worker.effects import Cancel, Credit, Exit, Input, InputEnd, Load, Send, Stop
from ganger_worker.errors import error_frame, refusal, report
from ganger_worker.execution import Execution, Unsendable
from ganger_worker.loader import Functions
from ganger_worker.logs import HostHandler
from ganger_worker.producing import Outgoing
from ganger_worker.protocol import HEADER, HEADER_SIZE, Frame, Violation, frame, header
from ganger_worker.session import Session
from ganger_worker.sharing import Sharing

FILES = sorted((notation.PROTOCOL / "transcripts").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = notation.load(f"transcripts/{path.name}")
    assert set(transcript["needs"]) <= {"streams", "input streams", "batches", "shared memory", "ahead"}
    if "ahead" in transcript["needs"] and not hasattr(os, "eventfd"):
        pytest.skip("it needs an eventfd")
    monkeypatch.setattr(Arenas, "read", lambda _arenas, _offset, length: bytes(length))
    play(transcript["steps"], transcript)


def play(given: list[dict[str, Any]], transcript: dict[str, Any] | None = None) -> None:
    steps = deque(flat(given))
    worker = ScriptedWorker(transcript or {"functions": ["add"]})
    worker.start()
    worker.compare(steps)
    while steps:
        (kind, step), *_ = steps.popleft().items()
        getattr(worker, kind)(step)
        worker.read_on()
        worker.compare(steps)


AMID_CHUNKS = [
    {"send": {"lane": "control", "kind": "HELLO", "seq": 0}},
    {"receive": {"lane": "control", "kind": "WELCOME", "seq": 0, "body": {"version": 1}}},
    {"effect": {"load": {}}},
    {"happen": {"loaded": {}}},
    {"send": {"lane": "data", "kind": "READY", "seq": 0}},
    {
        "receive": {
            "lane": "data",
            "kind": "CALL",
            "seq": 1,
            "body": {"function": "add"},
            "flags": ["CRITICAL", "MORE"],
            "payload_hex": "020000000000000091",
        }
    },
    {"receive": {"lane": "data", "kind": "STOP", "seq": 0, "body": {}}},
]
REST = {"receive": {"lane": "data", "kind": "CHUNK", "seq": 1, "payload_hex": "01"}}


def test_a_call_whose_chunks_are_under_way_ends_before_a_stop_does() -> None:
    cancelled = {"lane": "data", "kind": "ERROR", "seq": 1, "body": {"code": "CANCELLED"}}
    play(
        [
            *AMID_CHUNKS,
            {"receive": {"lane": "control", "kind": "CANCEL", "seq": 1, "body": {"reason": "stop"}}},
            {"send": cancelled},
            {"effect": {"shutdown": {}}},
            REST,
        ]
    )


def test_a_call_whose_last_chunk_comes_after_a_stop_runs() -> None:
    whole = {"lane": "data", "kind": "CHUNK", "seq": 1, "payload_hex": "c0"}
    play(
        [
            *AMID_CHUNKS,
            {"receive": whole},
            {"effect": {"run": {"seq": 1, "function": "add", "input": [None]}}},
            {"happen": {"return": {"seq": 1, "value": 3}}},
            {"send": {"lane": "data", "kind": "RESULT", "seq": 1, "payload": 3}},
            {"effect": {"shutdown": {}}},
        ]
    )


def test_a_stop_waits_for_the_answer_to_a_cancel_amid_chunks() -> None:
    session = Session()
    worker = ScriptedWorker({"functions": ["add"]})
    worker.session = session
    for step in AMID_CHUNKS[1:-1]:
        if "receive" in step:
            worker.receive(step["receive"])
        elif "happen" in step:
            worker.happen(step["happen"])
    cancel = worker.frame({"lane": "control", "kind": "CANCEL", "seq": 1, "body": {"reason": "cancel"}})
    refused = session.on_control(cancel)
    assert isinstance(refused, Send)
    assert session.on_data(worker.frame(AMID_CHUNKS[-1]["receive"])) is None
    assert isinstance(session.ended(refused.ends), Stop)


def flat(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for step in steps:
        found.extend(flat(step["steps"]) * step["repeat"] if "repeat" in step else [step])
    return found


class ScriptedWorker:
    """The real session and execution; loading, functions and the lanes are played."""

    def __init__(self, transcript: dict[str, Any]) -> None:
        self.attach = transcript.get("attach")
        self.did: list[dict[str, Any]] = []
        self.calls: dict[int, Call] = {}
        self.batches: dict[int, Run] = {}
        self.session = Session()
        functions = Functions()
        for name in transcript["functions"]:
            functions.offer(name, KNOWN.get(name, lambda *_input, **_named: None))
        self.functions = functions
        self.execution: Execution | None = None

        # Nobody maps anything: what would be read is all zeros.
        self.yielded: deque[tuple[Call, Any]] = deque()
        self.tokens_left = 0
        self.unread: deque[Frame] = deque()
        self.outgoing: dict[int, Outgoing] = {}

    # --- the lanes, as a Writer

    def send(self, data: bytes, lane: str = "data") -> None:
        length, body_length, kind, flags, _, seq = HEADER.unpack_from(data)
        body, payload = data[HEADER_SIZE : HEADER_SIZE + body_length], data[HEADER_SIZE + body_length :]
        assert len(data) == HEADER_SIZE + length
        self.did.append({"send": (lane, Frame(kind, flags, seq, body, payload))})

    post = post_always = send

    def send_payload(self, kind: int, flags: int, seq: int, payload: bytes) -> None:
        self.send(header(kind, flags, seq, 0, len(payload)) + payload)

    # --- steps

    def start(self) -> None:
        if self.attach:
            for lane in ("control", "data"):
                self.send(endpoint.attach_frame(self.attach["token"], "session", lane), lane)
        self.send(self.session.hello(), "control")

    def receive(self, step: dict[str, Any]) -> None:
        if step.get("end"):
            self.carry_out(self.session.end())
            return
        given = self.frame(step)
        if step["lane"] == "data":
            self.unread.append(given)
            self.read_on()
        else:
            self.hear(self.session.on_control, given)

    def read_on(self) -> None:
        """A worker whose calls are handed over ahead does not read data while it runs one."""
        while self.unread and not (self.hands_ahead() and self.session._running):
            self.hear(self.session.on_data, self.unread.popleft())

    def hear(self, on_frame: Callable[[Frame], Any], given: Frame) -> None:
        try:
            self.carry_out(on_frame(given))
        except Violation as violation:
            self.carry_out(Exit(70, str(violation)))

    def hands_ahead(self) -> bool:
        return self.session.welcome is not None and self.session.welcome.claims_fd is not None

    def tokens(self, count: int) -> None:
        self.tokens_left += count

    def take(self) -> bool:
        """As Claims does."""
        self.tokens_left -= (some := self.tokens_left > 0)
        return some

    def frame(self, step: dict[str, Any]) -> Frame:
        if "hex" in step:
            data = bytes.fromhex(step["hex"])
            length, body_length, kind, flags, _, seq = HEADER.unpack_from(data)
            if body_length > length:  # what the reader says
                return Frame(99, 1, seq, b"", b"")
            body, payload = data[HEADER_SIZE : HEADER_SIZE + body_length], data[HEADER_SIZE + body_length :]
            return Frame(kind, flags, seq, body, payload)
        name = step["kind"]
        flags = step.get("flags", ["CRITICAL"] if name in ("CALL", "STOP", "WELCOME") else [])
        body = step.get("body")
        if body is not None and name in notation.LISTS:
            defaults = {"attempt": 1, "shape": 0}
            body = [body.get(field, defaults.get(field)) for field in notation.LISTS[name]]
        payload = bytes.fromhex(step.get("payload_hex", ""))
        if "payload" in step:
            payload = values.encode(notation.value(step["payload"]))
        bits = (
            sum(notation.FLAGS[flag] for flag in flags)
            | notation.ENCODINGS[step.get("encoding", "messagepack")]
        )
        number = notation.KINDS.get(name, step.get("number", name))
        encoded = b"" if body is None else values.encode(notation.value(body))
        return Frame(number, bits, step["seq"], encoded, payload)

    def happen(self, step: dict[str, Any]) -> None:
        (what, fields), *_ = step.items()
        getattr(self, f"on_{what}")(**{key: notation.value(item) for key, item in fields.items()})

    def on_loaded(self) -> None:
        assert self.session.welcome is not None
        limit = self.session.welcome.max_payload
        if (shared := self.session.welcome.shared_memory) is not None:
            self.session._sharing = Sharing(shared, self.post_always)
        if self.hands_ahead():
            self.session._claims = self  # type: ignore[assignment]
        control = Control(self)
        self.execution = Execution(self.session, self, self.functions, limit, control)  # type: ignore[arg-type]
        self.send(self.session.ready(self.functions.contracts))
        self.carry_out(self.session.stop_asked())

    def on_load_failed(self, message: str) -> None:
        self.send(error_frame(0, report(ImportError(message), "START_FAILED")))
        self.carry_out(Exit(1, ""))

    def on_return(self, seq: int, value: Any) -> None:
        assert self.execution is not None
        call = self.calls[seq]
        self.execution.answer(call, self.execution.reply(call, value))
        self.carry_out(self.session.finish(seq))

    def on_yield(self, seq: int, value: Any) -> None:
        self.yielded.append((self.calls[seq], value))
        self.outgoing.setdefault(seq, Outgoing(self.calls[seq]))
        self.go_on()

    def go_on(self) -> None:
        """As a producer does when there may be credit."""
        assert self.execution is not None
        while self.yielded and self.outgoing[self.yielded[0][0].seq].is_open():
            call, value = self.yielded.popleft()
            try:
                self.outgoing[call.seq].sent(self.execution.send_item(call, value))
            except Unsendable as unsendable:
                self.execution.answer_error(call, unsendable.report)
                self.carry_out(self.session.finish(call.seq))

    def on_read(self, seq: int) -> None:
        incoming = self.calls[seq].incoming
        assert incoming is not None
        with suppress(InvalidItem):
            incoming.take(EOFError)

    def on_raise(self, seq: int, message: str) -> None:
        assert self.execution is not None
        self.execution.fail(self.calls[seq], RuntimeError(message))
        self.carry_out(self.session.finish(seq))

    def on_stopped(self, seq: int) -> None:
        assert self.execution is not None
        self.execution.fail(self.calls[seq], Cancelled("stopped"))
        self.carry_out(self.session.finish(seq))

    def on_return_together(self, seqs: list[int], results: list[dict[str, Any]]) -> None:
        given = [item["value"] if "value" in item else RuntimeError(item["message"]) for item in results]
        self.end_together(seqs, lambda run: run._answer(given))

    def on_raise_together(self, seqs: list[int], message: str) -> None:
        self.end_together(seqs, lambda run: run._fail(RuntimeError(message)))

    def on_stopped_together(self, seqs: list[int]) -> None:
        self.end_together(seqs, lambda run: run._fail(Cancelled("stopped")))

    def end_together(self, seqs: list[int], end: Callable[[Run], None]) -> None:
        assert self.execution is not None
        run = self.batches[seqs[0]]
        assert [call.seq for call in run._members] == seqs
        end(run)
        self.carry_out(self.execution._finish(run._call))

    def on_progress_together(self, seqs: list[int], **said: Any) -> None:
        self.calls[seqs[0]] = self.batches[seqs[0]]._call
        self.on_progress(seqs[0], **said)

    def on_invalid_input(self, seq: int, path: str, message: str) -> None:
        self.refuse(seq, "INVALID_INPUT", path, message)

    def on_invalid_result(self, seq: int, path: str, message: str) -> None:
        self.refuse(seq, "INVALID_RESULT", path, message)

    def refuse(self, seq: int, code: str, path: str, message: str) -> None:
        assert self.execution is not None
        self.execution.answer_error(self.calls[seq], refusal(code, message, path))
        self.carry_out(self.session.finish(seq))

    def on_log(self, seq: int, level: str, logger: str, message: str) -> None:
        current.set(self.calls.get(seq))
        number = getattr(logging, level.upper())
        HostHandler(self.post).handle(logging.LogRecord(logger, number, "", 0, message, (), None))
        current.set(None)

    def on_progress(self, seq: int, done: float, total: float | None = None, note: str | None = None) -> None:
        current.set(self.calls[seq])
        progress = context.__class__()
        progress._post = self.post
        progress.progress(done, total, note)
        current.set(None)

    def on_hooks_done(self) -> None:
        self.carry_out(Exit(0, ""))

    # --- effects

    def carry_out(self, effect: Any) -> None:
        if isinstance(effect, Send):
            self.send(effect.data)
            if effect.ends:
                self.carry_out(self.session.ended(effect.ends))
        elif isinstance(effect, Call):
            self.run(effect)
        elif isinstance(effect, Frame):
            self.carry_out(self.session.take_up(effect))
        elif isinstance(effect, Cancel):
            self.did.append({"effect": {"cancel": {"seq": effect.call.seq, "reason": effect.reason}}})
        elif isinstance(effect, Credit):
            effect.call.grant(effect.items, effect.size)
            self.go_on()
        elif isinstance(effect, Input):
            effect.follow()
            self.did.append(
                {"effect": {"input": {"seq": effect.call.seq, **whereabouts(effect.payload, effect.lent)}}}
            )
        elif isinstance(effect, InputEnd):
            effect.follow()
            self.did.append({"effect": {"input_end": {"seq": effect.call.seq}}})
        elif isinstance(effect, Stop):
            self.did.append({"effect": {"shutdown": {}}})
        elif isinstance(effect, Exit):
            self.did.append({"effect": {"exit": {"code": effect.code}}})
        elif isinstance(effect, Load):
            self.did.append({"effect": {"load": {}}})
        else:
            assert effect is None

    def run(self, call: Call) -> None:
        assert self.execution is not None
        function = self.execution.find(call)
        if function is not None and function.batched:
            self.run_together(Run(self.execution, call, function))
            return
        payload, raw = call.payload, call.encoding == 0x10
        lent = call.lent
        if function is None or (lent is None and self.execution.arguments(call, function) is None):
            self.carry_out(self.session.finish(call.seq))
            return
        self.calls[call.seq] = call
        given = {"input": payload} if raw else whereabouts(payload, lent, "input")
        self.did.append({"effect": {"run": {**about(call), **given}}})

    def run_together(self, run: Run) -> None:
        assert self.execution is not None
        inputs = run._begin()
        if not inputs:
            self.carry_out(self.execution._finish(run._call))
            return
        self.batches[run._members[0].seq] = run
        calls = [{**about(call), "input": input} for call, input in zip(run._members, inputs, strict=True)]
        self.did.append({"effect": {"run_together": {"calls": calls}}})

    # --- comparing

    def compare(self, steps: deque[dict[str, Any]]) -> None:
        wanted = []
        while steps and ("send" in steps[0] or "effect" in steps[0]):
            wanted.append(steps.popleft())
        assert len(self.did) == len(wanted), f"did {self.did}, wanted {wanted}"
        for want in wanted:
            match = next((did for did in self.did if fits(did, want)), None)
            assert match is not None, f"wanted {want}, did {self.did}"
            self.did.remove(match)


def about(call: Call) -> dict[str, Any]:
    fields = call.fields
    return {
        "seq": call.seq,
        "function": fields.function,
        "attempt": fields.attempt,
        "timeout_ms": fields.timeout_ms,
        "shape": fields.shape,
        "context": fields.context or None,
    }


def whereabouts(payload: bytes, lent: Lent | None, name: str = "value") -> dict[str, Any]:
    """A value, or where it lies."""
    if lent is None:
        return {name: values.decode(payload)}
    return {"shared": {"arena": 0, "offset": lent.offset, "length": lent.length}}


class Control:
    """The control lane, as a Writer."""

    def __init__(self, worker: ScriptedWorker) -> None:
        self.worker = worker

    def send(self, data: bytes) -> None:
        self.worker.send(data, "control")


def total(_x: Any, items: Iterator[int]) -> None:
    """Stands for a function that reads an input stream."""


def scan(_x: Any, items: Iterator[int]) -> Iterator[int]:
    """Stands for one that yields as well."""
    yield from items


@action(batch=(4, 0))
def double(inputs: list[Any]) -> list[Any]:
    """Stands for one that takes batches."""
    return inputs


KNOWN: dict[str, Any] = {"sum": total, "scan": scan, "double": double}


def fits(did: dict[str, Any], want: dict[str, Any]) -> bool:
    if "effect" in want:
        return "effect" in did and named(did["effect"], notation.value(want["effect"]))
    if "send" not in did:
        return False
    lane, sent = did["send"]
    step = want["send"]
    if (lane, notation.NAMES[sent.kind], sent.seq) != (step["lane"], step["kind"], step["seq"]):
        return False
    body = values.decode(sent.body) if sent.body else {}
    if isinstance(body, list) and step["kind"] in notation.LISTS:
        body = dict(zip(notation.LISTS[step["kind"]], body, strict=False))
    payload = sent.payload if sent.flags & 0x30 == 0x10 or not sent.payload else values.decode(sent.payload)
    return named(body, notation.value(step.get("body", {}))) and (
        "payload" not in step or payload == notation.value(step["payload"])
    )


def named(did: Any, want: Any) -> bool:
    """Equal in all that is named: a list as long, and each item likewise."""
    if isinstance(want, dict) and isinstance(did, dict):
        return all(key in did and named(did[key], item) for key, item in want.items())
    if isinstance(want, list) and isinstance(did, list):
        return len(did) == len(want) and all(map(named, did, want))
    return bool(did == want)


def test_something_was_played() -> None:
    assert len(FILES) > 30
    assert frame(1)
