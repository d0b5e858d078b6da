"""Frames of protocol version 1: the header, the kinds, and the bodies that a worker reads."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar, cast

VERSION: Final = 1
HEADER: Final = struct.Struct("<QIBBHQ")
HEADER_SIZE: Final = HEADER.size
TOTAL: Final = struct.Struct("<Q")
MAX_BODY: Final = 16 * 1024 * 1024
MAX_BODY_DEPTH: Final = 64


class Kind:
    """Numbers of the frame kinds (chapter 3). Plain integers: they are compared on the hot path."""

    CALL: Final = 1
    INPUT: Final = 2
    INPUT_END: Final = 3
    PING: Final = 4
    STOP: Final = 5
    CHUNK: Final = 6
    READY: Final = 16
    RESULT: Final = 17
    ERROR: Final = 18
    ITEM: Final = 19
    PROGRESS: Final = 20
    LOG: Final = 21
    PONG: Final = 22
    ATTACH: Final = 32
    HELLO: Final = 33
    WELCOME: Final = 34
    CANCEL: Final = 35
    CREDIT: Final = 36


class Flag:
    CRITICAL: Final = 0x01
    MORE: Final = 0x02
    SHARED: Final = 0x04
    ENCODING: Final = 0x30


class Encoding:
    MESSAGEPACK: Final = 0x00
    RAW: Final = 0x10
    PICKLE: Final = 0x20


DATA_TO_WORKER: Final = frozenset({Kind.CALL, Kind.INPUT, Kind.INPUT_END, Kind.PING, Kind.STOP, Kind.CHUNK})
CONTROL_TO_WORKER: Final = frozenset({Kind.WELCOME, Kind.CANCEL, Kind.CREDIT})
KNOWN: Final = frozenset(range(1, 7)) | frozenset(range(16, 23)) | frozenset(range(32, 37))


class Violation(Exception):
    """The host broke the protocol; the worker says so in one line and exits with code 70 (chapter 9)."""


class Frame(NamedTuple):
    kind: int
    flags: int
    seq: int
    body: bytes
    payload: bytes


def header(kind: int, flags: int, seq: int, body_length: int, payload_length: int) -> bytes:
    return HEADER.pack(body_length + payload_length, body_length, kind, flags, 0, seq)


def frame(kind: int, seq: int = 0, body: bytes = b"", payload: bytes = b"", flags: int = 0) -> bytes:
    """One whole frame as bytes; for frames that are small or rare."""
    return header(kind, flags, seq, len(body), len(payload)) + body + payload


def parse_header(buffer: bytes | bytearray | memoryview, offset: int = 0) -> tuple[int, int, int, int, int]:
    """``(kind, flags, seq, body_length, payload_length)`` of the header at ``offset``."""
    length, body_length, kind, flags, _reserved, seq = HEADER.unpack_from(buffer, offset)
    if body_length > length:
        raise Violation(f"body_length {body_length} exceeds length {length}")
    if body_length > MAX_BODY:
        raise Violation(f"a body of {body_length} bytes exceeds {MAX_BODY}")
    return kind, flags, seq, body_length, length - body_length


@dataclass(frozen=True, slots=True)
class CallBody:
    function: str
    attempt: int
    timeout_ms: int | None
    shape: int
    context: dict[str, str]


@dataclass(frozen=True, slots=True)
class StopBody:
    reason: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Welcome:
    version: int
    pool: str
    worker: int
    generation: int
    concurrency: int
    max_payload: int
    cancel_grace_ms: int
    stop_timeout_ms: int
    device: str | None


def read_call(body: object) -> CallBody:
    fields = _fields(body, 5)
    context = fields[4]
    return CallBody(
        function=_typed(fields[0], str, "function"),
        attempt=_unsigned(fields[1], "attempt", 32, 1),
        timeout_ms=None if fields[2] is None else _unsigned(fields[2], "timeout_ms", 64),
        shape=_unsigned(fields[3], "shape", 8, 0),
        context={} if context is None else _strings(context),
    )


def read_stop(body: object) -> StopBody:
    fields = _map(body)
    return StopBody(
        reason=_typed(fields.get("reason", ""), str, "reason"),
        timeout_ms=_unsigned(fields.get("timeout_ms"), "timeout_ms", 64, 0),
    )


def read_welcome(body: object) -> Welcome:
    fields = _map(body)
    device = fields.get("device")
    return Welcome(
        version=_unsigned(fields.get("version"), "version", 16),
        pool=_typed(fields.get("pool"), str, "pool"),
        worker=_unsigned(fields.get("worker"), "worker", 32),
        generation=_unsigned(fields.get("generation"), "generation", 32),
        concurrency=_unsigned(fields.get("concurrency"), "concurrency", 32, 1),
        max_payload=_unsigned(fields.get("max_payload"), "max_payload", 64),
        cancel_grace_ms=_unsigned(fields.get("cancel_grace_ms"), "cancel_grace_ms", 64),
        stop_timeout_ms=_unsigned(fields.get("stop_timeout_ms"), "stop_timeout_ms", 64),
        device=None if device is None else _typed(device, str, "device"),
    )


def read_cancel(body: object) -> str:
    """The reason; one that this version does not know counts as ``cancel``."""
    value = _fields(body, 1)[0]
    reason = "cancel" if value is None else _typed(value, str, "reason")
    return reason if reason in ("cancel", "timeout", "deadline", "stop") else "cancel"


def read_credit(body: object) -> tuple[int, int]:
    fields = _fields(body, 2)
    return _unsigned(fields[0], "items", 32, 0), _unsigned(fields[1], "bytes", 64, 0)


# A field that is left out reads as nil here; where nil is not allowed, the caller names the default or none.


def _fields(body: object, count: int) -> list[object]:
    if body is None:
        return [None] * count
    if not isinstance(body, list):
        raise Violation(f"a body is a {type(body).__name__}, not a list")
    fields = cast("list[object]", body)
    return fields + [None] * (count - len(fields))


def _map(body: object) -> dict[str, object]:
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise Violation(f"a body is a {type(body).__name__}, not a map")
    return cast("dict[str, object]", body)


T = TypeVar("T")


def _typed(value: object, kind: type[T], name: str) -> T:
    if not isinstance(value, kind):
        raise Violation(f"{name} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def _unsigned(value: object, name: str, bits: int, default: int | None = None) -> int:
    if value is None and default is not None:
        return default
    if type(value) is not int or value < 0 or value >> bits:
        raise Violation(f"{name} is not an unsigned integer of {bits} bits")
    return value


def _strings(value: object) -> dict[str, str]:
    for item in _map(value).values():
        _typed(item, str, "a value of context")
    return cast("dict[str, str]", value)
