# Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.
"""Events of a pool."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypedDict


class WorkerStartEvent(TypedDict):
    """A worker's process was started."""

    # The pool's name.
    pool: str

    # The worker's place in the pool.
    worker: int

    # Its process.
    pid: int


class WorkerReadyEvent(TypedDict):
    """A worker is ready to take calls."""

    # The pool's name.
    pool: str

    # The worker's place in the pool.
    worker: int

    # Its process.
    pid: int

    # From its start to ready, in milliseconds.
    started_in: float


class WorkerExitEvent(TypedDict):
    """A worker ended."""

    # The pool's name.
    pool: str

    # The worker's place in the pool.
    worker: int

    # Its process; None if there never was one.
    pid: int | None

    # Its exit code, if it exited.
    code: int | None

    # The signal that ended it, if one did: `SIGKILL`.
    signal: str | None

    # Calls it had.
    running: int

    # Calls it had answered.
    calls: int

    # Why, in a word.
    reason: Literal["crash", "start-failed", "shutdown"]

    # Why exactly.
    cause: Literal[
        "cancel-kill",
        "close",
        "detached",
        "exit",
        "not-started",
        "protocol",
        "signal",
        "start-timeout",
    ]


class WorkerLogEvent(TypedDict):
    """A worker printed or logged something."""

    # The pool's name.
    pool: str

    # The worker's place in the pool.
    worker: int

    # Its process.
    pid: int

    # Where it came from.
    source: Literal["log", "stderr", "stdout"]

    # `debug`, `info`, `warning`, `error` or `critical`; None for what was printed.
    level: str | None

    # The logger's name; None for what was printed.
    logger: str | None

    # The line, without its end.
    message: str

    # What the log call carried beside its text.
    fields: Any

    # The function that was running, where known.
    fn: str | None


class CallRetryEvent(TypedDict):
    """A call that was declared idempotent is going to run again, because its worker died."""

    # The pool's name.
    pool: str

    # The place in the pool of the worker that died.
    worker: int

    # The process of the worker that died; None if there never was one.
    pid: int | None

    # The function.
    fn: str

    # The attempt that was lost; the first is 1.
    attempt: int

    # How often the call may run again, this time included.
    retries: int


class QueueFullEvent(TypedDict):
    """A call was refused because the queue is full. Told once, until the queue has drained."""

    # The pool's name.
    pool: str

    # Calls waiting.
    queued: int

    # Bytes of input waiting.
    queued_bytes: int


class QueueDrainEvent(TypedDict):
    """The queue is empty again after it had been full."""

    # The pool's name.
    pool: str


EventName: TypeAlias = Literal[
    "worker:start",
    "worker:ready",
    "worker:exit",
    "worker:log",
    "call:retry",
    "queue:full",
    "queue:drain",
]

# The names of all events.
EVENT_NAMES: Final[tuple[EventName, ...]] = (
    "worker:start",
    "worker:ready",
    "worker:exit",
    "worker:log",
    "call:retry",
    "queue:full",
    "queue:drain",
)

# The data of any event.
Event: TypeAlias = (
    WorkerStartEvent
    | WorkerReadyEvent
    | WorkerExitEvent
    | WorkerLogEvent
    | CallRetryEvent
    | QueueFullEvent
    | QueueDrainEvent
)
