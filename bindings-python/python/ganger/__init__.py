"""A supervised pool of worker processes, in Python or any other language.

from ganger import Pool

with Pool(python="workers/", workers=4) as pool:
    pool.call("prices.convert", {"amount": 3}, timeout=0.5)
"""

from __future__ import annotations

import os as _os
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _native
from ._generated.errors import (
    CallFailed,
    CallTimeout,
    DeadlineExceeded,
    ErrorCode,
    ErrorReport,
    Forked,
    GangerError,
    InvalidInput,
    InvalidOption,
    InvalidResult,
    NoSuchFunction,
    PayloadTooLarge,
    PoolClosed,
    ProtocolViolation,
    QueueFull,
    QueueTimeout,
    RemoteError,
    StartFailed,
    WorkerCrashed,
    WorkerDeath,
)
from ._generated.events import (
    EVENT_NAMES,
    CallRetryEvent,
    EventName,
    QueueDrainEvent,
    QueueFullEvent,
    ReloadEvent,
    WarningEvent,
    WorkerExitEvent,
    WorkerLogEvent,
    WorkerReadyEvent,
    WorkerRecycleEvent,
    WorkerStartEvent,
    WorkerUnresponsiveEvent,
)
from ._generated.options import CallOptions, PoolOptions
from ._generated.stats import CallInfo, FunctionInfo, Stats, WorkerStats

Block = _native.Block

_native.settle_in(_os.path.dirname(_os.path.abspath(__file__)), _sys.executable or None)

from .future import CallFuture  # noqa: E402
from .outcome import WorkerOutcome  # noqa: E402
from .pool import Pool  # noqa: E402
from .progress import Progress  # noqa: E402
from .streams import CallStream  # noqa: E402
from .tracing import trace_context  # noqa: E402

if _TYPE_CHECKING:
    from .process_pool import ProcessPool

__version__ = _native.__version__

__all__ = [
    "EVENT_NAMES",
    "Block",
    "CallFailed",
    "CallFuture",
    "CallInfo",
    "CallOptions",
    "CallRetryEvent",
    "CallStream",
    "CallTimeout",
    "DeadlineExceeded",
    "ErrorCode",
    "ErrorReport",
    "EventName",
    "Forked",
    "FunctionInfo",
    "GangerError",
    "InvalidInput",
    "InvalidOption",
    "InvalidResult",
    "NoSuchFunction",
    "PayloadTooLarge",
    "Pool",
    "PoolClosed",
    "PoolOptions",
    "ProcessPool",
    "Progress",
    "ProtocolViolation",
    "QueueDrainEvent",
    "QueueFull",
    "QueueFullEvent",
    "QueueTimeout",
    "ReloadEvent",
    "RemoteError",
    "StartFailed",
    "Stats",
    "WarningEvent",
    "WorkerCrashed",
    "WorkerDeath",
    "WorkerExitEvent",
    "WorkerLogEvent",
    "WorkerOutcome",
    "WorkerReadyEvent",
    "WorkerRecycleEvent",
    "WorkerStartEvent",
    "WorkerStats",
    "WorkerUnresponsiveEvent",
    "trace_context",
]

# Where they are defined is this package's own affair: tracebacks and pickles name what apps import.
for _name in __all__:
    if isinstance(_public := globals().get(_name), type):
        _public.__module__ = __name__


def __getattr__(name: str) -> object:
    # What it needs takes a third of the time of importing everything else.
    if name == "ProcessPool":
        from .process_pool import ProcessPool

        return ProcessPool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
