# Generated from the tables in core/src by `UPDATE=1 cargo test -p ganger --test codegen`; edit those.
"""Why a call has no result: one class for each error code."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypedDict

ErrorCode: TypeAlias = Literal[
    "QUEUE_FULL",
    "QUEUE_TIMEOUT",
    "TIMEOUT",
    "DEADLINE_EXCEEDED",
    "CANCELLED",
    "WORKER_CRASHED",
    "START_FAILED",
    "CALL_FAILED",
    "NO_SUCH_FUNCTION",
    "INVALID_INPUT",
    "INVALID_RESULT",
    "PAYLOAD_TOO_LARGE",
    "POOL_CLOSED",
    "INVALID_OPTION",
    "PROTOCOL",
    "FORKED",
]

Fault: TypeAlias = Literal["caller", "function", "node", "pool", "worker"]


class ErrorFields(TypedDict):
    """An error as apps see it."""

    # What went wrong.
    code: ErrorCode

    # The same for people.
    message: str

    # Whose fault it is.
    fault: Literal["caller", "function", "node", "pool", "worker"]

    # Whether the function surely did not run, so that calling again cannot do its work twice.
    safe_to_repeat: bool

    # Whether the function had begun to run.
    started: Literal["maybe", "no", "yes"]

    # Attempts that were started.
    attempts: int

    # The function that was called.
    function: str | None

    # The process of the worker that died, if one did.
    pid: int | None

    # Its exit code, if it exited.
    exit_code: int | None

    # The signal that ended it, if one did: `SIGKILL`.
    signal: str | None

    # How that worker died.
    worker: WorkerDeath | None

    # What the worker said of the error, if it said anything. In Node.js it is the `cause`, a `RemoteError`.
    report: ErrorReport | None

    # Figures that explain it: queue length, time waited.
    details: dict[str, Any]


class WorkerDeath(TypedDict):
    """How a worker died."""

    # The process; None if there never was one.
    pid: int | None

    # Which place in the pool it had.
    index: int

    # How many workers had that place before.
    generation: int

    # Its exit code, if it exited.
    code: int | None

    # The signal that ended it, if one did: `SIGKILL`.
    signal: str | None

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

    # The function whose call had to be killed, if that was the cause.
    culprit: str | None

    # The last lines that it wrote to stderr.
    stderr_tail: str

    # How long it lived, in milliseconds.
    uptime_ms: int

    # Functions of the last calls that it had answered, the latest last.
    last_calls: list[str]

    # What it used in its last minute, in bytes, the latest last; empty where memory is not watched.
    memory: list[int]


class ErrorReport(TypedDict):
    """An error as the worker reported it."""

    # Its type in the worker's language: `ValueError`.
    type: str

    # Its text.
    message: str

    # Its traceback, in the form that the language has for it.
    traceback: str | None

    # The worker's language: `python`.
    language: str

    # Properties of the error that could be sent: a map, or null.
    properties: Any

    # Properties that could not.
    dropped: list[str]

    # Where in the input or result, if it is about one: `$.amount`.
    path: str | None

    # The error that led to it.
    cause: ErrorReport | None


class RemoteError(Exception):
    """An error that happened in a worker, in whatever language it is written."""

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(report)
        self.type: str = report["type"]
        self.message: str = report["message"]
        self.language: str = report["language"]
        self.traceback: str | None = report["traceback"]
        self.properties: dict[str, Any] = report["properties"] or {}
        self.dropped: list[str] = report["dropped"]
        self.path: str | None = report["path"]
        # Not __cause__: most tracebacks have the whole chain in them already.
        self.cause: RemoteError | None = None if report["cause"] is None else RemoteError(report["cause"])

    def __str__(self) -> str:
        if self.traceback is None:
            return f"{self.type}: {self.message}"
        return f'\n"""\n{self.traceback.rstrip()}\n"""'


class GangerError(Exception):
    """Why a call has no result, or why a pool could not do what it was asked to."""

    # What went wrong.
    code: ClassVar[ErrorCode]
    # Whose fault it is.
    fault: ClassVar[Fault]

    # Every argument but the text has a default, so that the error can be pickled.
    def __init__(self, message: str = "", fields: ErrorFields | None = None) -> None:
        super().__init__(message)
        # Whether the function surely did not run, so that calling again cannot do its work twice.
        self.safe_to_repeat: bool = fields is not None and fields["safe_to_repeat"]
        # Whether the function had begun to run.
        self.started: Literal["maybe", "no", "yes"] = "no" if fields is None else fields["started"]
        # Attempts that were started.
        self.attempts: int = 0 if fields is None else fields["attempts"]
        # The function that was called.
        self.function: str | None = None if fields is None else fields["function"]
        # The process of the worker that died, if one did.
        self.pid: int | None = None if fields is None else fields["pid"]
        # Its exit code, if it exited.
        self.exit_code: int | None = None if fields is None else fields["exit_code"]
        # The signal that ended it, if one did: "SIGKILL".
        self.signal: str | None = None if fields is None else fields["signal"]
        # How that worker died.
        self.worker: WorkerDeath | None = None if fields is None else fields["worker"]
        # What the worker said of the error, if it said anything.
        self.report: ErrorReport | None = None if fields is None else fields["report"]
        # Figures that explain it: queue length, time waited.
        self.details: dict[str, Any] = {} if fields is None else fields["details"]

    @property
    def message(self) -> str:
        """The text."""
        return str(self.args[0]) if self.args else ""


class QueueFull(GangerError):
    """The queue has no room for another call; it has not run."""

    code: ClassVar[ErrorCode] = "QUEUE_FULL"
    fault: ClassVar[Fault] = "pool"


class QueueTimeout(GangerError, TimeoutError):
    """The call waited as long as `queue_timeout` allows for its first attempt; it has not run."""

    code: ClassVar[ErrorCode] = "QUEUE_TIMEOUT"
    fault: ClassVar[Fault] = "pool"


class CallTimeout(GangerError, TimeoutError):
    """An attempt ran longer than `timeout` allows; its worker was asked to stop it."""

    code: ClassVar[ErrorCode] = "TIMEOUT"
    fault: ClassVar[Fault] = "function"


class DeadlineExceeded(GangerError, TimeoutError):
    """The call was not done within its `deadline`; `started` tells whether it ran."""

    code: ClassVar[ErrorCode] = "DEADLINE_EXCEEDED"
    fault: ClassVar[Fault] = "pool"


class WorkerCrashed(GangerError):
    """The worker died while it had the call; `worker` tells how."""

    code: ClassVar[ErrorCode] = "WORKER_CRASHED"
    fault: ClassVar[Fault] = "worker"


class StartFailed(GangerError):
    """No worker can be started; the report is the last one's own."""

    code: ClassVar[ErrorCode] = "START_FAILED"
    fault: ClassVar[Fault] = "worker"


class CallFailed(GangerError):
    """The function failed with an error of its own; the report has its type, text and traceback."""

    code: ClassVar[ErrorCode] = "CALL_FAILED"
    fault: ClassVar[Fault] = "function"


class NoSuchFunction(GangerError):
    """The worker has no function of that name."""

    code: ClassVar[ErrorCode] = "NO_SUCH_FUNCTION"
    fault: ClassVar[Fault] = "caller"


class InvalidInput(GangerError):
    """The input does not fit the function, which has not run."""

    code: ClassVar[ErrorCode] = "INVALID_INPUT"
    fault: ClassVar[Fault] = "caller"


class InvalidResult(GangerError):
    """The function ran, but what it returned cannot be sent."""

    code: ClassVar[ErrorCode] = "INVALID_RESULT"
    fault: ClassVar[Fault] = "function"


class PayloadTooLarge(GangerError):
    """The input or the result is larger than `max_payload` allows; `started` tells which."""

    code: ClassVar[ErrorCode] = "PAYLOAD_TOO_LARGE"
    fault: ClassVar[Fault] = "caller"


class PoolClosed(GangerError):
    """The pool was closed before the call was done; `started` tells whether it ran."""

    code: ClassVar[ErrorCode] = "POOL_CLOSED"
    fault: ClassVar[Fault] = "pool"


class InvalidOption(GangerError):
    """An option is unknown, of the wrong type or out of range; nothing was done."""

    code: ClassVar[ErrorCode] = "INVALID_OPTION"
    fault: ClassVar[Fault] = "caller"


class ProtocolViolation(GangerError):
    """The worker sent what the protocol does not allow, and was killed."""

    code: ClassVar[ErrorCode] = "PROTOCOL"
    fault: ClassVar[Fault] = "worker"


class Forked(GangerError):
    """The pool belongs to the process that this one was forked from; make a new one."""

    code: ClassVar[ErrorCode] = "FORKED"
    fault: ClassVar[Fault] = "caller"


# The class of each code; a cancelled call raises the standard CancelledError instead.
CLASSES: Final[dict[ErrorCode, type[GangerError]]] = {
    "QUEUE_FULL": QueueFull,
    "QUEUE_TIMEOUT": QueueTimeout,
    "TIMEOUT": CallTimeout,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "WORKER_CRASHED": WorkerCrashed,
    "START_FAILED": StartFailed,
    "CALL_FAILED": CallFailed,
    "NO_SUCH_FUNCTION": NoSuchFunction,
    "INVALID_INPUT": InvalidInput,
    "INVALID_RESULT": InvalidResult,
    "PAYLOAD_TOO_LARGE": PayloadTooLarge,
    "POOL_CLOSED": PoolClosed,
    "INVALID_OPTION": InvalidOption,
    "PROTOCOL": ProtocolViolation,
    "FORKED": Forked,
}


def error_from(fields: ErrorFields) -> GangerError | CancelledError:
    """The exception for an error of the core; its cause is the worker's own error, if there is one."""
    if fields["code"] == "CANCELLED":
        return CancelledError(fields["message"])
    error = CLASSES[fields["code"]](fields["message"], fields)
    if fields["report"] is not None:
        error.__cause__ = RemoteError(fields["report"])
    return error
