"""The control thread: cancels running calls while functions are busy, and notices that the host is gone."""

from __future__ import annotations

import select
import threading

from . import leaving
from .protocol import Violation
from .session import VIOLATION_EXIT, Cancel, Effect, Exit, Send, Session
from .transport import HostGone, Lane


def start(session: Session, data: Lane, control: Lane) -> None:
    threading.Thread(target=_watch, args=(session, data, control), name="ganger-control", daemon=True).start()


def _watch(session: Session, data: Lane, control: Lane) -> None:
    poller = select.poll()
    poller.register(control.socket, select.POLLIN)
    # Only the end of the data lane: its frames belong to the loop that runs calls. A hang-up is always told.
    poller.register(data.socket, getattr(select, "POLLRDHUP", 0))
    data_number = data.socket.fileno()
    while True:
        if not control.reader.holds_frame and any(number == data_number for number, _ in poller.poll()):
            effect: Effect | None = session.end()
        else:
            effect = _next(session, control)
        _carry_out(effect, data)


def _next(session: Session, control: Lane) -> Effect | None:
    try:
        return session.on_control(control.reader.read())
    except HostGone:
        return session.end()
    except Violation as violation:
        return Exit(VIOLATION_EXIT, str(violation))


def _carry_out(effect: Effect | None, data: Lane) -> None:
    if isinstance(effect, Cancel):
        effect.call.ask_to_stop()
    elif isinstance(effect, Send):
        data.writer.send(effect.data)
    elif isinstance(effect, Exit):
        leaving.at_once(effect.code, effect.message)
