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
    reason: Literal["crash", "recycled", "start-failed", "shutdown", "unresponsive"]

    # Why exactly.
    cause: Literal[
        "cancel-kill",
        "close",
        "detached",
        "exit",
        "idle",
        "memory-limit",
        "not-started",
        "oom-killer",
        "protocol",
        "recycled",
        "signal",
        "start-timeout",
        "unresponsive",
    ]

    # Why it could not start, with its own traceback or the end of its stderr; None unless the reason is
    # `start-failed`.
    error: str | None


class WorkerRecycleEvent(TypedDict):
    """A worker is going to be replaced."""

    # The pool's name.
    pool: str

    # The worker's place in the pool.
    worker: int

    # Its process.
    pid: int

    # Why.
    reason: Literal["age", "calls", "memory", "reload"]

    # What it was last seen to use, in bytes; None where that is not known.
    memory: int | None

    # Calls it has answered.
    calls: int

    # Whether it leaves before its replacement starts, because there is no memory for both.
    cold: bool


class WorkerUnresponsiveEvent(TypedDict):
    """A worker without calls did not answer the health check and is killed."""

    # The pool's name.
    pool: str

    # The worker's place in the pool.
    worker: int

    # Its process.
    pid: int

    # How long it had to answer, in milliseconds.
    timeout: int


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

    # How often the call may run again in all: its `retries`.
    retries: int


class ReloadEvent(TypedDict):
    """The code has changed and workers are going to be replaced."""

    # The pool's name.
    pool: str

    # What has changed: a hundred names at most.
    files: list[str]

    # How many workers are going to be replaced.
    replaced: int


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


class WarningEvent(TypedDict):
    """Something about the pool that its owner should know and may want to change."""

    # The pool's name.
    pool: str

    # What, in a sentence.
    message: str


EventName: TypeAlias = Literal[
    "worker:start",
    "worker:ready",
    "worker:exit",
    "worker:recycle",
    "worker:unresponsive",
    "worker:log",
    "call:retry",
    "reload",
    "queue:full",
    "queue:drain",
    "warning",
]

# The names of all events.
EVENT_NAMES: Final[tuple[EventName, ...]] = (
    "worker:start",
    "worker:ready",
    "worker:exit",
    "worker:recycle",
    "worker:unresponsive",
    "worker:log",
    "call:retry",
    "reload",
    "queue:full",
    "queue:drain",
    "warning",
)

# The data of any event.
Event: TypeAlias = (
    WorkerStartEvent
    | WorkerReadyEvent
    | WorkerExitEvent
    | WorkerRecycleEvent
    | WorkerUnresponsiveEvent
    | WorkerLogEvent
    | CallRetryEvent
    | ReloadEvent
    | QueueFullEvent
    | QueueDrainEvent
    | WarningEvent
)
