"""A worker that wants more memory than it may have, in every way that there is to want it."""

import ctypes
import os
import time

from ganger_worker import action

STEP = 10 << 20


@action
def echo(x: object) -> object:
    return x


@action
def pid() -> int:
    return os.getpid()


@action
async def nap(seconds: float) -> str:
    import asyncio

    await asyncio.sleep(seconds)
    return "napped"


@action
def want_at_once(megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


@action
def hold(seconds: float, megabytes: int) -> str:
    """Has it for a while, then lets it go again."""
    held = b"x" * (megabytes << 20)
    time.sleep(seconds)
    return f"held {len(held)}"


@action
def leak(pause: float = 0.0, path: str = "") -> None:
    """Python's own objects, as long as the system gives any."""
    note(path)
    held = []
    while True:
        held.append(b"x" * STEP)
        time.sleep(pause)


@action
def leak_below(pause: float = 0.0, path: str = "") -> None:
    """As a library in C that never asks whether it was given any."""
    note(path)
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    while True:
        ctypes.memset(ctypes.c_void_p(libc.malloc(STEP)), 1, STEP)
        time.sleep(pause)


@action
def give_up() -> None:
    """As a library in C that asks, says so and ends the process."""
    os.write(2, b"xmalloc: cannot allocate memory\n")
    os.abort()


@action
def wait_for_the_kill() -> None:
    os.kill(os.getpid(), 9)
    time.sleep(60)


def note(path: str) -> None:
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
