"""What the chaos suites call in Python workers. A deed with a mark notes it before anything else."""

import asyncio
import os
import signal
import sys
import time
from typing import Any

from ganger_worker import action, startup

# Short appends to one file are whole, whoever else appends.
_marks = os.open(os.environ["MARKS"], os.O_CREAT | os.O_APPEND | os.O_WRONLY) if "MARKS" in os.environ else -1


@startup
def begin() -> None:
    time.sleep(float(os.environ.get("START_SECONDS", "0")))
    if os.path.exists(os.environ.get("NO_START", "/none")):
        raise RuntimeError("not while the file is there")


def note(mark: str) -> None:
    if _marks >= 0:
        os.write(_marks, f"{mark}\n".encode())


@action
def echo(mark: str) -> str:
    note(mark)
    return mark


@action
def work(mark: str, seconds: float) -> str:
    note(mark)
    time.sleep(seconds)
    return mark


@action
async def hang(mark: str) -> None:
    """Stops when it is asked."""
    note(mark)
    await asyncio.Event().wait()


@action
def spin(mark: str) -> None:
    """Does not stop when it is asked."""
    note(mark)
    while True:
        pass


@action
def crash(mark: str) -> None:
    note(mark)
    os.kill(os.getpid(), signal.SIGKILL)
    # The signal comes when it comes.
    time.sleep(60)


@action
def bomb() -> int:
    held: list[bytearray] = []
    while True:
        held.append(bytearray(b"x") * (16 << 20))


@action
def size(data: Any) -> int:
    return len(data)


@action
def bytes_of(count: int) -> bytes:
    return bytes(count)


@action
def shout(count: int) -> int:
    """One line without an end."""
    written = 0
    while written < count:
        written += os.write(2, b"y" * min(count - written, 1 << 20))
    return written


@action
def shout_and_crash(count: int) -> None:
    shout(count)
    sys.stderr.flush()
    os._exit(3)
