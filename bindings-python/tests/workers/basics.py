"""Functions for the tests: what they do is their name."""

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time

from ganger_worker import action, context


@action
def echo(value):
    return value


@action
def add(a: int, b: int = 1) -> int:
    return a + b


@action
def nothing() -> None:
    return None


@action
def pid() -> int:
    return os.getpid()


@action
def environment(name: str):
    return os.environ.get(name)


@action
def trace():
    return dict(context.trace)


@action
def interval(seconds: float) -> list:
    """When it began and ended, by a clock that all processes share."""
    begun = time.monotonic()
    time.sleep(seconds)
    return [begun, time.monotonic()]


@action
async def rest(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "rested"


@action
def spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


@action
def ignore_everything(path: str) -> None:
    """Says in a file that it has begun, and does not stop."""
    open(path, "w").close()
    while True:
        pass


@action
def wait_for_file(path: str) -> str:
    while not os.path.exists(path):
        time.sleep(0.01)
    return "there"


@action
def cooperate(path: str) -> None:
    """Notes in a file that it was asked to stop, and in another one before that it has begun."""
    open(f"{path}.begun", "w").close()
    while not context.cancelled:
        time.sleep(0.01)
    with open(path, "w") as file:
        file.write("cancelled")
    context.check()


@action
def fail(kind: str = "ValueError") -> None:
    try:
        {}["missing"]
    except KeyError as error:
        raise {"ValueError": ValueError, "OSError": OSError}[kind]("no good") from error


class Odd(Exception):
    def __init__(self, number, text):
        super().__init__(text)
        self.number = number


@action
def fail_oddly() -> None:
    raise Odd(7, "odd")


@action
def unsendable():
    return {"items": [1, object()]}


@action
def die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "exit-0":
        os._exit(0)
    if how == "sys-exit":
        sys.exit(4)
    os.kill(os.getpid(), getattr(signal, how))
    time.sleep(60)


@action(idempotent=True)
def hoard() -> None:
    """As a library in C that ends the process when it is refused memory."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    while taken := libc.malloc(10 << 20):
        ctypes.memset(ctypes.c_void_p(taken), 1, 10 << 20)
    os.write(2, b"hoard: cannot allocate memory\n")
    os.abort()


@action(idempotent=True)
def die_once(path: str) -> str:
    """Kills its worker the first time."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "survived"
    os._exit(9)


@action
def say(text: str) -> None:
    print(text, flush=True)


@action
def log(text: str) -> None:
    context.log.warning(text)


@action
def grandchild() -> int:
    return subprocess.Popen(["sleep", "1000"]).pid


@action
def threads() -> int:
    return threading.active_count()


@action
def log_all(levels: list) -> None:
    """One record of each level, some with more than a text."""
    logger = logging.getLogger("prices.audit")
    for level in levels:
        logger.log(getattr(logging, level.upper()), "a %s record", level, extra={"order": 7, "pool": "mine"})


@action
def note_and_die(path: str) -> None:
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@action
def hold_the_interpreter(seconds: int) -> int:
    """In C, with Python's lock held all the time."""
    ctypes.PyDLL(None).sleep(seconds)
    return os.getpid()


@action
def where() -> list:
    return [context.worker, os.getpid()]


@action
def odd_worker_fails() -> int:
    if context.worker % 2:
        raise ValueError(f"worker {context.worker}")
    return context.worker
