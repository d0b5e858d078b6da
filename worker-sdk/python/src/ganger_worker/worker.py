"""A worker's life: handshake, load, start-up hooks, calls, shutdown hooks."""

from __future__ import annotations

import sys
import time

from . import control, endpoint, hooks, leaving, loader
from .context import bind
from .effects import Exit, Load
from .execution import Execution
from .log_watch import LogWatch
from .protocol import Violation
from .session import HOST_GONE_EXIT, VIOLATION_EXIT, Session
from .transport import HostGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .protocol import Welcome
    from .runner import Runner
    from .transport import Lane

NOT_ATTACHED_EXIT = 1
USAGE_EXIT = 64
INTERRUPTED_EXIT = 130
# So long a load dwarfs the import of msgspec, which takes some twentieth of a second.
LONG_LOAD_S = 0.5


def main(arguments: list[str] | None = None) -> int:
    """``python -m ganger_worker TARGET``. The exit code, or a function's SystemExit."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1:
        print("usage: python -m ganger_worker TARGET   (a file, a folder, or a module)", file=sys.stderr)
        return USAGE_EXIT
    try:
        data, control_lane, address = endpoint.connect()
    except (endpoint.NoHost, OSError, ValueError) as error:
        print(f"ganger_worker: {error}", file=sys.stderr)
        return USAGE_EXIT
    try:
        return _live(given[0], data, control_lane, address)
    except HostGone:
        leaving.at_once(HOST_GONE_EXIT)
    except Violation as violation:
        leaving.at_once(VIOLATION_EXIT, str(violation))
    except KeyboardInterrupt:  # only a worker started by hand sees one
        return INTERRUPTED_EXIT
    finally:
        # Reached by SystemExit of a function too: no reply may stay half written (R24).
        data.writer.close_for_exit()


def _live(target: str, data: Lane, control_lane: Lane, address: str | None) -> int:
    session = Session()
    leaving.leave_lanes_to_parent(data, control_lane)
    try:
        welcome = _shake_hands(session, control_lane)
    except HostGone:
        if address is None:
            raise
        # A person who attaches by hand wants to know why it did not work.
        why = "it let this worker go at once; is the token right?"
        leaving.at_once(NOT_ATTACHED_EXIT, f"cannot attach to {address}: {why}")
    data.reader.max_payload = welcome.max_payload
    session.inherit(welcome, data.writer.post_always)
    runner = _runner(session, data, welcome.concurrency)
    control.start(session, data, control_lane, runner.stop)
    bind(welcome, data.writer.post)
    logs = LogWatch(data.writer.post)
    logs.begin()
    begun = time.monotonic()
    try:
        functions = loader.load(target)
        logs.code_is_loaded()
        runner.run_hooks(hooks.startup_hooks)
        if time.monotonic() - begun > LONG_LOAD_S:
            _import_for_calls()
        ready = session.ready(functions.contracts)
    except (Exception, SystemExit) as error:
        from . import errors

        if isinstance(error, ModuleNotFoundError):
            # Often it is there, but for another Python than the one that the app has found.
            error.msg += f" (this Python is {sys.executable})"
        data.writer.send(errors.error_frame(0, errors.report(error, "START_FAILED")))
        return 1
    data.writer.send(ready)
    if session.stop_asked() is None:
        runner.serve(Execution(session, data.writer, functions, welcome.max_payload, control_lane.writer))
    runner.run_hooks(hooks.shutdown_hooks)
    runner.close()
    return 0


def _import_for_calls() -> None:
    """A worker with much to load may replace one that serves: no call shall wait for the import instead."""
    from . import typing_rules, values

    if typing_rules.msgspec:
        values.use_msgspec()


def _runner(session: Session, data: Lane, concurrency: int) -> Runner:
    if concurrency <= 1:
        from .inline import Inline

        return Inline(session, data)
    from .threaded import Threaded

    return Threaded(session, data, concurrency)


def _shake_hands(session: Session, control_lane: Lane) -> Welcome:
    control_lane.writer.send(session.hello())
    while True:
        effect = session.on_control(control_lane.reader.read())
        if isinstance(effect, Exit):
            leaving.at_once(effect.code, effect.message)
        if isinstance(effect, Load):
            return effect.welcome
