"""A worker that takes a while to load, leaks, forks, and says what it knows of itself."""

import os
import time

from ganger_worker import action, context, startup

HELD: list[bytearray] = []


@startup
def load() -> None:
    time.sleep(float(os.environ.get("LOAD_SECONDS", "0")))


@action
def pid() -> int:
    return os.getpid()


@action
def leak(megabytes: int) -> int:
    HELD.append(bytearray(os.urandom(4096)) * (megabytes * 256))
    return os.getpid()


@action
def device() -> str:
    return f"{os.environ.get('GANGER_DEVICE')} {context.device}"


@action
def threads() -> str:
    return os.environ.get("OMP_NUM_THREADS", "as they like")


@action
def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


@action(idempotent=True)
def flaky(path: str) -> str:
    """Dies the first time."""
    if not os.path.exists(path):
        open(path, "w").close()
        os._exit(7)
    return "done"
