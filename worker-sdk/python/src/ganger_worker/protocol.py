"""Frames of protocol version 1: the header, the kinds, and the bodies that a worker reads."""

from __future__ import annotations

from _struct import Struct

from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeVar

    T = TypeVar("T")

VERSION: Final = 1
HEADER: Final = Struct("<QIBBHQ")
HEADER_SIZE: Final = HEADER.size
TOTAL: Final = Struct("<Q")
REFERENCE: Final = Struct("<QQQ")  # to shared memory: arena, offset, length
RUN: Final = "ganger.run"  # the function of every Python worker, which calls what the host pickled
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
    RELEASE: Final = 7
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
    HELD: Final = 0x08
    VIEW: Final = 0x40
    AHEAD: Final = 0x80
    ENCODING: Final = 0x30


# Not on the wire: the reader found the payload to be more than max_payload and skipped it.
TOO_LARGE: Final = 0x100
# What the functions below take for a body of zero bytes, which is not the same as nil.
NO_BODY: Final = object()


class Encoding:
    MESSAGEPACK: Final = 0x00
    RAW: Final = 0x10
    PICKLE: Final = 0x20


DATA_TO_WORKER: Final = frozenset(
    {Kind.CALL, Kind.INPUT, Kind.INPUT_END, Kind.PING, Kind.STOP, Kind.CHUNK, Kind.RELEASE}
)
KNOWN: Final = frozenset((*range(1, 8), *range(16, 23), *range(32, 37)))


class Violation(Exception):
    """The host broke the protocol; the worker says so in one line and exits with code 70 (chapter 9)."""


class Frame:
    __slots__ = ("body", "flags", "kind", "payload", "seq")

    def __init__(self, kind: int, flags: int, seq: int, body: bytes, payload: bytes) -> None:
        self.kind = kind
        self.flags = flags
        self.seq = seq
        self.body = body
        self.payload = payload


def header(kind: int, flags: int, seq: int, body_length: int, payload_length: int) -> bytes:
    return HEADER.pack(body_length + payload_length, body_length, kind, flags, 0, seq)


def frame(kind: int, seq: int = 0, body: bytes = b"", payload: bytes = b"", flags: int = 0) -> bytes:
    """One whole frame as bytes; for frames that are small or rare."""
    return header(kind, flags, seq, len(body), len(payload)) + body + payload


class CallBody:
    __slots__ = ("attempt", "batch", "context", "function", "shape", "timeout_ms")

    def __init__(
        self,
        function: str,
        attempt: int,
        timeout_ms: int | None,
        shape: int,
        context: dict[str, str],
        batch: tuple[int, int] | None = None,
    ) -> None:
        self.function = function
        self.attempt = attempt
        self.timeout_ms = timeout_ms
        self.shape = shape
        self.context = context
        # The number of the batch's first call, and how many calls it has (R57).
        self.batch = batch


class StopBody:
    __slots__ = ("reason", "timeout_ms")

    def __init__(self, reason: str, timeout_ms: int) -> None:
        self.reason = reason
        self.timeout_ms = timeout_ms


class Welcome:
    """The pool's settings. Made from the body itself: a key that is not there has its default."""

    __slots__ = (
        "cancel_grace_ms",
        "claims_fd",
        "concurrency",
        "device",
        "generation",
        "max_payload",
        "pool",
        "shared_memory",
        "stop_timeout_ms",
        "version",
        "worker",
    )

    def __init__(self, fields: dict[str, object]) -> None:
        device = fields.get("device")
        self.version = _unsigned(fields.get("version", 0), "version", 16)
        self.pool = _typed(fields.get("pool", ""), str, "pool")
        self.worker = _unsigned(fields.get("worker", 0), "worker", 32)
        self.generation = _unsigned(fields.get("generation", 0), "generation", 32)
        self.concurrency = _unsigned(fields.get("concurrency", 1), "concurrency", 32)
        self.max_payload = _unsigned(fields.get("max_payload", 1 << 32), "max_payload", 64)
        self.cancel_grace_ms = _unsigned(fields.get("cancel_grace_ms", 2000), "cancel_grace_ms", 64)
        self.stop_timeout_ms = _unsigned(fields.get("stop_timeout_ms", 5000), "stop_timeout_ms", 64)
        self.device = None if device is None else _typed(device, str, "device")
        claims = fields.get("claims_fd")
        self.claims_fd = None if claims is None else _unsigned(claims, "claims_fd", 31)
        shared = fields.get("shared_memory")
        self.shared_memory = None if shared is None else SharedMemory(_map(shared))


class SharedMemory:
    """Where the arenas are, and from how many bytes on a payload is worth one (R42)."""

    __slots__ = ("input_fd", "input_size", "result_fd", "result_size", "threshold")

    def __init__(self, fields: dict[str, object]) -> None:
        self.input_fd = _unsigned(fields.get("input_fd", 0), "input_fd", 31)
        self.result_fd = _unsigned(fields.get("result_fd", 0), "result_fd", 31)
        self.input_size = _unsigned(fields.get("input_size", 0), "input_size", 64)
        self.result_size = _unsigned(fields.get("result_size", 0), "result_size", 64)
        self.threshold = _unsigned(fields.get("threshold", 0), "threshold", 64)


def read_call(body: object) -> CallBody:
    fields = _list(body, ("", 1, None, 0, None, None))
    context = fields[4]
    return CallBody(
        function=_typed(fields[0], str, "function"),
        attempt=_unsigned(fields[1], "attempt", 32),
        timeout_ms=None if fields[2] is None else _unsigned(fields[2], "timeout_ms", 64),
        shape=_unsigned(fields[3], "shape", 1),
        context={} if context is None else _strings(context),
        batch=None if fields[5] is None else _batch(fields[5]),
    )


def _batch(value: object) -> tuple[int, int]:
    first, count = _list(value, (0, 0))[:2]
    return _unsigned(first, "first", 64), _unsigned(count, "count", 32)


def read_stop(body: object) -> StopBody:
    fields = _map(body)
    return StopBody(
        reason=_typed(fields.get("reason", ""), str, "reason"),
        timeout_ms=_unsigned(fields.get("timeout_ms", 5000), "timeout_ms", 64),
    )


def read_welcome(body: object) -> Welcome:
    return Welcome(_map(body))


def read_cancel(body: object) -> str:
    """The reason; one that this version does not know counts as ``cancel``."""
    reason = _typed(_list(body, ("cancel",))[0], str, "reason")
    return reason if reason in ("cancel", "timeout", "deadline", "stop") else "cancel"


def read_credit(body: object) -> tuple[int, int]:
    items, size = _list(body, (0, 0))
    return _unsigned(items, "items", 32), _unsigned(size, "bytes", 64)


def read_release(body: object) -> list[int]:
    """Offsets of blocks of this worker's arena that are free again."""
    if body is NO_BODY:
        return []
    if not isinstance(body, list):
        raise Violation(f"a body is a {type(body).__name__}, not a list")
    return [_unsigned(offset, "offset", 64) for offset in cast("list[object]", body)]


def _list(body: object, defaults: tuple[object, ...]) -> list[object]:
    """As many fields as there are defaults: a body may be shorter, longer, or not there."""
    if body is NO_BODY:
        return list(defaults)
    if not isinstance(body, list):
        raise Violation(f"a body is a {type(body).__name__}, not a list")
    fields = cast("list[object]", body)[: len(defaults)]
    return [*fields, *defaults[len(fields) :]]


def _map(body: object) -> dict[str, object]:
    if body is NO_BODY:
        return {}
    if not isinstance(body, dict):
        raise Violation(f"a body is a {type(body).__name__}, not a map")
    for key in cast("dict[object, object]", body):
        _typed(key, str, "a key")
    return cast("dict[str, object]", body)


def _typed(value: object, kind: type[T], name: str) -> T:
    if not isinstance(value, kind):
        raise Violation(f"{name} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def _unsigned(value: object, name: str, bits: int) -> int:
    if type(value) is not int or value < 0 or value >> bits:
        raise Violation(f"{name} is not an unsigned integer of {bits} bits")
    return value


def _strings(value: object) -> dict[str, str]:
    for item in _map(value).values():
        _typed(item, str, "a value of context")
    return cast("dict[str, str]", value)
