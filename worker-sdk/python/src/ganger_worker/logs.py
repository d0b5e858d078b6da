"""Log records of the user's code as LOG frames to the host; imported once the user's code has ``logging``."""

from __future__ import annotations

import logging
import os
import traceback

from . import values
from .context import current
from .protocol import Kind, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

MAX_MESSAGE: Final = 64 * 1024
_LEVELS: Final = ((50, "critical"), (40, "error"), (30, "warning"), (20, "info"))
_OWN: Final = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {
    "message",
    "asctime",
    "taskName",
}


class HostHandler(logging.Handler):
    """Posts records and never waits: it takes no lock of its own, so it may be called from anywhere."""

    def __init__(self, post: Callable[[bytes], None]) -> None:
        super().__init__()
        self._post = post

    def createLock(self) -> None:
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        if not self.filter(record):
            return False
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        try:
            call = current.get()
            body = [_level(record.levelno), record.name, _message(record), _fields(record)]
            self._post(frame(Kind.LOG, 0 if call is None else call.seq, values.encode_body(body)))
        except Exception:
            # The message cannot be made or encoded: logging's own way of saying so, on stderr.
            self.handleError(record)


def install_own(post: Callable[[bytes], None]) -> None:
    """``context.log`` always reaches the host."""
    logger = logging.getLogger("ganger")
    logger.addHandler(HostHandler(post))
    logger.propagate = False
    logger.setLevel(_configured_level())


def install_root(post: Callable[[bytes], None]) -> None:
    """The root logger reaches the host unless the user's code has set up handlers of its own."""
    root = logging.getLogger()
    if root.handlers:
        return
    root.addHandler(HostHandler(post))
    if root.level == logging.WARNING:  # nobody touched it
        root.setLevel(_configured_level())


def _configured_level() -> int:
    name = os.environ.get("GANGER_LOG_LEVEL", "info").upper()
    return logging.getLevelNamesMapping().get(name, logging.INFO)


def _level(number: int) -> str:
    return next((name for limit, name in _LEVELS if number >= limit), "debug")


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info and record.exc_info[0] is not None:
        text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
    if record.stack_info:
        text += "\n" + record.stack_info
    return text[:MAX_MESSAGE].encode("utf-8", "backslashreplace").decode()


def _fields(record: logging.LogRecord) -> dict[str, object] | None:
    """What the caller gave as ``extra``; what cannot be encoded is shown as text."""
    extra: dict[str, Any] = {name: value for name, value in vars(record).items() if name not in _OWN}
    return {name: _plain(value) for name, value in extra.items()} or None


def _plain(value: object) -> object:
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    return repr(value)[:1024]
