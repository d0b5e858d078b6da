"""The reader, the chunks and the bodies against the golden frames and the malformed ones."""

from __future__ import annotations

import random
from typing import Any

import pytest

import notation
from ganger_worker import protocol, values
from ganger_worker.chunks import Assemblies
from ganger_worker.protocol import NO_BODY, TOO_LARGE, Frame, Kind, Violation
from ganger_worker.session import Exit, Session
from ganger_worker.transport import HostGone, Reader

GOLDEN = notation.load("vectors/frames.json")["vectors"]
MALFORMED = [
    vector
    for vector in notation.load("vectors/malformed.json")["frames"]
    if vector["direction"] == "to_worker"
]


class Fed(Reader):
    """A reader of bytes that come in steps of a size, then end."""

    def __init__(self, data: bytes, step: int, max_payload: int = 1 << 63) -> None:
        super().__init__(-1, max_payload)
        self.left, self.step = data, step

    def _receive(self, into: memoryview) -> int:
        count = min(self.step, len(into), len(self.left))
        if count == 0:
            raise HostGone("end of file")
        into[:count], self.left = self.left[:count], self.left[count:]
        return count


def read_all(data: bytes, step: int, max_payload: int = 1 << 32) -> list[Frame]:
    reader = Fed(data, step, max_payload)
    assemblies, frames = Assemblies(max_payload), []
    while True:
        try:
            whole = assemblies.take(reader.read())
        except HostGone:
            return frames
        if whole is not None and whole.kind in protocol.KNOWN:
            frames.append(whole)


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("vector", GOLDEN, ids=lambda vector: vector["name"])
def test_golden(vector: dict[str, Any], step: int) -> None:
    frames = read_all(bytes.fromhex(vector["hex"]), step)
    assert [notation.NAMES[got.kind] for got in frames] == [want["kind"] for want in vector["frames"]]
    for got, want in zip(frames, vector["frames"], strict=True):
        assert got.seq == notation.value(want["seq"])
        assert got.payload.hex() == want["payload_hex"]
        assert got.flags & 0x30 == notation.ENCODINGS[want["encoding"]]
        names = ("CRITICAL", "SHARED", "AHEAD") if got.kind == Kind.CALL else ("CRITICAL", "SHARED")
        assert {name for name in names if got.flags & notation.FLAGS[name]} == set(want["flags"])
        if vector["direction"] == "to_worker" and want["body"] is not None:
            assert read_body(got) == notation.value(want["body"])


def read_body(got: Frame) -> dict[str, Any]:
    body = values.decode_body(got.body) if got.body else NO_BODY
    if got.kind == Kind.CALL:
        call = protocol.read_call(body)
        context = call.context or None
        meaning: dict[str, Any] = {
            "function": call.function,
            "attempt": call.attempt,
            "timeout_ms": call.timeout_ms,
            "shape": call.shape,
            "context": context,
        }
        if call.batch is not None:
            meaning["batch"] = dict(zip(("first", "count"), call.batch, strict=True))
        return meaning
    if got.kind == Kind.STOP:
        stop = protocol.read_stop(body)
        return {"reason": stop.reason, "timeout_ms": stop.timeout_ms}
    if got.kind == Kind.CANCEL:
        return {"reason": protocol.read_cancel(body)}
    if got.kind == Kind.CREDIT:
        return dict(zip(("items", "bytes"), protocol.read_credit(body), strict=True))
    if got.kind == Kind.RELEASE:
        return {"offsets": protocol.read_release(body)}
    welcome = fields(protocol.read_welcome(body))
    shared = welcome.pop("shared_memory")
    if welcome["claims_fd"] is None:
        del welcome["claims_fd"]
    return welcome if shared is None else {**welcome, "shared_memory": fields(shared)}


def fields(body: Any) -> dict[str, Any]:
    return {name: getattr(body, name) for name in body.__slots__}


@pytest.mark.parametrize("step", [1, 1 << 20])
@pytest.mark.parametrize("vector", MALFORMED, ids=lambda vector: vector["name"])
def test_malformed(vector: dict[str, Any], step: int) -> None:
    data = bytes.fromhex(vector["hex"])
    if not vector["violation"]:
        first, *rest = read_all(data, step, vector["max_payload"])
        assert first.seq == vector["seq"]
        assert first.flags & TOO_LARGE or len(first.payload) > vector["max_payload"]
        assert [notation.NAMES[got.kind] for got in rest] == [want["kind"] for want in vector["frames"]]
        return
    assert isinstance(play(data, vector["lane"], step), Exit)


def play(data: bytes, lane: str, step: int) -> Exit | None:
    """Through reader and session, as a worker would see it that is serving (control: before WELCOME too)."""
    session = Session()
    if not data or data[12] != Kind.WELCOME:
        welcome = values.encode({"version": 1, "max_payload": 1 << 32})
        session.on_control(Frame(Kind.WELCOME, 1, 0, welcome, b""))
        session.ready([])
    reader = Fed(data, step)
    while True:
        try:
            frame = reader.read()
        except HostGone:
            return None
        except Violation as violation:
            return Exit(70, str(violation))
        effect = session.on_data(frame) if lane == "data" else session.on_control(frame)
        if isinstance(effect, Exit):
            assert effect.code == 70
            return effect


def test_large_frames_and_small_ones_mixed() -> None:
    sizes = [0, 10, 300_000, 5, 262_120, 262_119, 262_144, 1, 3_000_000, 7]
    stream = b"".join(
        protocol.frame(Kind.CALL, seq, b"\x90", bytes([seq]) * size) for seq, size in enumerate(sizes, 1)
    )
    for step in (1 << 20, 100_001, 65_536):
        frames = read_all(stream, step)
        assert [len(got.payload) for got in frames] == sizes
        assert all(got.payload == bytes([got.seq]) * len(got.payload) for got in frames)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_end_in_a_violation_or_in_nothing(seed: int) -> None:
    rng = random.Random(seed)
    given = [vector for vector in GOLDEN if vector["direction"] == "to_worker" and vector["hex"]]
    for _ in range(500):
        vector = rng.choice(given)
        damaged = bytearray.fromhex(vector["hex"])
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        play(bytes(damaged), vector["lane"], 1 << 20)
