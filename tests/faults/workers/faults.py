"""What users of other pools met in their workers, to be met here."""

import ctypes
import os
import signal
import sys
import time

from ganger_worker import action, context, shutdown, startup

_kept = []


@startup
def begin() -> None:
    time.sleep(float(os.environ.get("START_SECONDS", "0")))
    if os.path.exists(os.environ.get("NO_START", "/none")):
        raise RuntimeError("not while the file is there")


@shutdown
def leave() -> None:
    time.sleep(float(os.environ.get("LEAVE_SECONDS", "0")))
    if path := os.environ.get("LEFT"):
        with open(path, "a") as file:
            file.write("left\n")


@action
def echo(value):
    return value


@action
def pid() -> int:
    return os.getpid()


@action
def where() -> list:
    return [context.worker, os.getpid()]


@action
def wait_for_file(path: str) -> int:
    open(f"{path}.begun", "w").close()
    while not os.path.exists(path):
        time.sleep(0.01)
    return os.getpid()


@action
def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


@action
def die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), getattr(signal, how))
    time.sleep(60)


@action
def grow_and_wait(megabytes: int, path: str) -> int:
    """Keeps so much from now on, and ends with the file."""
    # Written to, or the system has not given it yet.
    _kept.append(bytearray(b"x") * (megabytes << 20))
    return wait_for_file(path)


@action
def grow_for_ever() -> None:
    while True:
        _kept.append(bytearray(b"x") * (1 << 20))


@action
def sleep_in_c(seconds: int) -> None:
    """With Python's lock held all the time: no thread of this process runs Python code meanwhile."""
    ctypes.PyDLL(None).sleep(seconds)


@action
def never_end(path: str) -> None:
    """In C, with Python's lock held all the time: whoever asks is not heard."""
    open(f"{path}.begun", "w").close()
    ctypes.PyDLL(None).sleep(1000)


@action
def many_bytes(count: int) -> bytes:
    return b"z" * count


@action
def odd_result(kind: str):
    cycle: list = []
    cycle.append([cycle])
    return {
        "function": lambda: {"deep": [1, len]},
        "generator": lambda: (n for n in range(3)),
        "file": lambda: {"log": sys.stdout},
        "cycle": lambda: cycle,
        "class": lambda: [int],
        "too large an integer": lambda: {"n": 2**64},
    }[kind]()


@action
def fail_with_a_cycle() -> None:
    error = ValueError("the message stays")
    error.me = error  # type: ignore[attr-defined]
    error.number = 7  # type: ignore[attr-defined]
    raise error


@action
def note_at_exit(path: str) -> None:
    """What coverage and buffers do: they write when the interpreter ends."""
    import atexit

    atexit.register(lambda: open(path, "w").close())
