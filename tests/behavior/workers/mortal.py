"""A worker that gives a pool something to report."""

import os
import time

from ganger_worker import action


@action
def pid() -> int:
    return os.getpid()


@action
def die_once(path: str) -> str:
    """Kills its worker, unless it has done so before."""
    if os.path.exists(path):
        return "survived"
    open(path, "w").close()
    os.kill(os.getpid(), 9)
    # The signal comes when it comes.
    time.sleep(60)
    return "never"
