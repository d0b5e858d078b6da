"""``context``: what a function sees of its call, and can say while it runs."""

from __future__ import annotations

import time
from _contextvars import ContextVar

from . import values
from .batch import members
from .protocol import Kind, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping
    from typing import Final

    from .call import Call
    from .protocol import Welcome

current: Final[ContextVar[Call | None]] = ContextVar("ganger_call", default=None)


class Cancelled(Exception):
    """Raised by ``context.check()`` in a call that was asked to stop."""


class InvalidItem(ValueError):
    """Raised by an input stream for an item that does not fit its annotation; the stream can be read on."""

    def __init__(self, message: str, path: str = "$", code: str = "INVALID_INPUT") -> None:
        super().__init__(message)
        self.path = path
        self.code = code


class Context:
    """Reads as of the call that runs here; outside of one (hooks, own threads) it reads as empty."""

    __slots__ = ("_post", "_welcome")

    def __init__(self) -> None:
        self._welcome: Welcome | None = None
        self._post: Callable[[bytes], None] | None = None

    @property
    def cancelled(self) -> bool:
        call = current.get()
        return call is not None and call.cancelled

    def check(self) -> None:
        """Raises Cancelled if the call was asked to stop; for long loops."""
        call = current.get()
        if call is not None and call.cancelled:
            raise Cancelled(f"cancelled ({call.reason})")

    @property
    def remaining(self) -> float | None:
        """Seconds that the host gives this attempt from now on, never below 0; None: no limit."""
        call = current.get()
        if call is None or call.deadline is None:
            return None
        return max(0.0, call.deadline - time.monotonic())

    @property
    def attempt(self) -> int:
        call = current.get()
        return 1 if call is None else call.fields.attempt

    @property
    def call(self) -> int:
        """The call's number on this worker; 0 outside of a call."""
        call = current.get()
        return 0 if call is None else call.seq

    @property
    def function(self) -> str:
        call = current.get()
        return "" if call is None else call.fields.function

    @property
    def trace(self) -> Mapping[str, str]:
        """The strings the host sent along: traceparent, tracestate, baggage and the app's own."""
        from types import MappingProxyType

        call = current.get()
        return MappingProxyType({} if call is None else call.fields.context)

    @property
    def device(self) -> str | None:
        return None if self._welcome is None else self._welcome.device

    @property
    def pool(self) -> str:
        return "" if self._welcome is None else self._welcome.pool

    @property
    def worker(self) -> int:
        """The worker's index in its pool, the same over replacements."""
        return 0 if self._welcome is None else self._welcome.worker

    @property
    def log(self) -> logging.Logger:
        """A logger whose records reach the host with the function's name."""
        import logging  # and with it comes what forwards its records: log_watch

        function = self.function
        return logging.getLogger(f"ganger.{function}" if function else "ganger")

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Tells the caller, or all callers of a batch, how far the call is."""
        call = current.get()
        if call is not None and self._post is not None:
            whole = None if total is None else float(total)
            body = values.encode_body([float(done), whole, note])
            for member in members(call):
                if not member.answered:
                    self._post(frame(Kind.PROGRESS, member.seq, body))

    def _bind(self, welcome: Welcome, post: Callable[[bytes], None]) -> None:
        self._welcome = welcome
        self._post = post


context = Context()


def bind(welcome: Welcome, post: Callable[[bytes], None]) -> None:
    """Ties the context to the worker's session; done once, before the user's code is loaded."""
    context._bind(welcome, post)  # pyright: ignore[reportPrivateUsage]
