"""The control thread: cancels running calls while functions are busy, and notices that the host is gone.

It must never be the first to import ``threading``, which takes its importer for the main thread.
"""

from __future__ import annotations

import select
from _thread import start_new_thread

from . import leaving
from .effects import Cancel, Credit, Exit, Send
from .protocol import Violation
from .session import HOST_GONE_EXIT, VIOLATION_EXIT, Session
from .transport import HostGone, Lane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .effects import Effect


def start(session: Session, data: Lane, control: Lane, stop: Callable[[], None]) -> None:
    """``stop`` is for a cancel that ends the last call after STOP: the runner, who waits, does not see it."""
    start_new_thread(_watch, (session, data, control, stop))


def _watch(session: Session, data: Lane, control: Lane, stop: Callable[[], None]) -> None:
    poller = select.poll()
    poller.register(control.descriptor, select.POLLIN)
    # Only the end of the data lane: its frames belong to the loop that runs calls. A hang-up is always told.
    poller.register(data.descriptor, getattr(select, "POLLRDHUP", 0))
    while True:
        if not control.reader.holds_frame and any(number == data.descriptor for number, _ in poller.poll()):
            effect: Effect | None = session.end()
        else:
            effect = _next(session, control)
        if isinstance(effect, Send):
            if _written(effect, session, data):
                stop()
        elif isinstance(effect, Cancel):
            effect.call.ask_to_stop()
        elif isinstance(effect, Credit):
            effect.call.grant(effect.items, effect.size)
        elif isinstance(effect, Exit):
            leaving.at_once(effect.code, effect.message)


def _next(session: Session, control: Lane) -> Effect | None:
    try:
        return session.on_control(control.reader.read())
    except HostGone:
        return session.end()
    except Violation as violation:
        return Exit(VIOLATION_EXIT, str(violation))


def _written(effect: Send, session: Session, data: Lane) -> bool:
    """The end of a call whose chunks were under way. True: it was the last one before a stop."""
    try:
        data.writer.send(effect.data)
    except HostGone:
        leaving.at_once(HOST_GONE_EXIT)
    return session.ended(effect.ends) is not None
