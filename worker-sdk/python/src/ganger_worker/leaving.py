"""The ways a worker process ends, and what a forked child of it must not do."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NoReturn

    from .transport import Lane

_lanes: Final[list[Lane]] = []


def at_once(code: int, message: str = "") -> NoReturn:
    """From any thread, whatever the others do; no hook, no finalizer."""
    if message:
        try:
            os.write(2, f"ganger_worker: {message}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            pass
    os._exit(code)


def exit_code(error: SystemExit) -> int:
    """What Python makes of ``sys.exit(code)``."""
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def leave_lanes_to_parent(data: Lane, control: Lane) -> None:
    """A child that user code forks closes its copies of the lanes and never writes to them."""
    _lanes.extend((data, control))
    os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    for lane in _lanes:
        lane.leave_to_parent()
