"""What apps are told without asking: records of workers go to `logging`, warnings of the pool to `warnings`,
and what the workers of a `ProcessPool` print goes where the app prints.

It happens on the thread that listeners have. A slow handler delays them and nothing else; beyond some
thousand events that wait for it, new ones are dropped.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import _native

if TYPE_CHECKING:
    from ._generated.events import WarningEvent, WorkerLogEvent

_HERE: Final = str(Path(__file__).parent)
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
# What a record has of its own, `extra` must not have.
_OWN: Final = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {
    "message",
    "asctime",
    "taskName",
}

logger = logging.getLogger("ganger")


def report(pool: _native.Pool) -> None:
    """Forwards from now on what the pool says."""
    pool.subscribe("worker:log", _log, "log")
    pool.subscribe("warning", _warner(*_caller()))


def print_through(pool: _native.Pool) -> None:
    """Has what workers print appear where this process prints, line by line."""
    pool.subscribe("worker:log", _print, "stdout")
    pool.subscribe("worker:log", _print, "stderr")


def _print(event: WorkerLogEvent) -> None:
    stream = sys.stdout if event["source"] == "stdout" else sys.stderr
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]  # an app without a console
        return
    try:
        stream.write(f"{event['message']}\n")
        stream.flush()
    except (OSError, ValueError):
        pass  # Closed, or it cannot show that text; workers are not to be hurt by it.


def _log(event: WorkerLogEvent) -> None:
    """Hands a record on as if it had been made here, by the logger of the same name."""
    target = logging.getLogger(None if event["logger"] == "root" else event["logger"])
    level = _LEVELS.get(event["level"] or "", logging.INFO)
    if not target.isEnabledFor(level):
        return
    extra = {name: value for name, value in _fields(event).items() if name not in _OWN}
    record = target.makeRecord(target.name, level, "(worker)", 0, event["message"], (), None, extra=extra)
    record.process = event["pid"]
    record.processName = f"{event['pool']}/{event['worker']}"
    try:
        target.handle(record)
    except Exception:
        logger.warning("a handler of %s failed", target.name, exc_info=True)


def _fields(event: WorkerLogEvent) -> dict[str, Any]:
    given: dict[str, Any] = event["fields"] or {}
    own = {"pool": event["pool"], "worker": event["worker"], "pid": event["pid"], "function": event["fn"]}
    return {**given, **own}


def _warner(file: str, line: int) -> Callable[[WarningEvent], None]:
    """Warns of each thing once, as of the line that made the pool: its options are what can be changed."""
    told: set[str] = set()

    def warn(event: WarningEvent) -> None:
        if event["message"] in told:
            return
        told.add(event["message"])
        text = f"pool {event['pool']!r}: {event['message']}"
        try:
            warnings.warn_explicit(text, RuntimeWarning, file, line)
        except RuntimeWarning:
            # The app has warnings for errors, but there is nobody here to catch one.
            logger.warning(text)

    return warn


def _caller() -> tuple[str, int]:
    """The nearest line that is not this library's."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
