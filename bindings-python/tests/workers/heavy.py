"""Takes half a second to load, like a model, and may leak."""

import os
import time

from ganger_worker import action, startup

LOAD_S = 0.5
_kept = []


@startup
def load() -> None:
    time.sleep(LOAD_S)


@action
def pid() -> int:
    return os.getpid()


@action
def leak(megabytes: int) -> int:
    # Written to, or the system has not given it yet.
    _kept.append(bytearray(b"x") * (megabytes << 20))
    return os.getpid()
