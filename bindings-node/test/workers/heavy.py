"""A worker that takes its time to load, leaks, and says what it knows of itself."""

import ctypes
import os
import time

from ganger_worker import action, context, shutdown, startup

HELD: list[bytes] = []


@startup
def load() -> None:
    time.sleep(float(os.environ.get("LOAD_SECONDS", "0")))


@shutdown
def leave() -> None:
    if "EXIT_CODE" in os.environ:
        os._exit(int(os.environ["EXIT_CODE"]))


@action
def pid() -> int:
    return os.getpid()


@action
def nap(ms: float) -> int:
    time.sleep(ms / 1000)
    return os.getpid()


@action
def busy(ms: float) -> int:
    """In C, with Python's lock held all the time."""
    ctypes.PyDLL(None).usleep(int(ms * 1000))
    return os.getpid()


@action
def leak(megabytes: int) -> int:
    HELD.append(os.urandom(4096) * (megabytes * 256))
    return os.getpid()


@action
def binding() -> list[str | None]:
    names = ["GANGER_DEVICE", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"]
    return [context.device, *(os.environ.get(name) for name in names)]
