"""Functions that the tests call in Python workers."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from ganger_worker import action, context

print("printed at import")
os.write(1, b"written at import\n")


@action
def echo(value: Any) -> Any:
    return value


@action
def echo_map(value: dict[str, Any]) -> dict[str, Any]:
    return value


@action
def pid() -> int:
    return os.getpid()


@action
def sleep(ms: float) -> float:
    time.sleep(ms / 1000)
    return ms


@action
def announced_sleep(ms: float) -> None:
    print("sleeping")
    time.sleep(ms / 1000)


@action(name="exit")
def leave(code: int) -> None:
    os._exit(code)


@action
def kill(name: str) -> None:
    os.kill(os.getpid(), getattr(signal, name))


@action
def abort() -> None:
    os.abort()


@action
def spin() -> None:
    while True:
        pass


@action
def fail(message: str) -> None:
    try:
        raise KeyError("the reason")
    except KeyError as error:
        raise ValueError(message) from error


@action
def prints() -> str:
    print("printed in a call")
    thread = threading.Thread(target=lambda: print("printed in a thread"))
    thread.start()
    thread.join()
    ctypes.CDLL(None).puts(b"printed in C")
    ctypes.CDLL(None).fflush(None)
    subprocess.run(["sh", "-c", "echo printed by a grandchild"], check=True)
    print("printed as an error", file=sys.stderr)
    context.log.info("logged %s", "well")
    return "done"


@action
def flood(count: int) -> int:
    line = b"x" * 1023 + b"\n"
    for _ in range(count):
        os.write(2, line)
    os.write(1, b"y" * 3_000_000 + b"\n")
    return count


@action
def last_words(lines: int) -> None:
    for line in range(lines):
        print(f"line {line}")
    print("the very last", file=sys.stderr)
    sys.stdout.flush()
    os._exit(1)


@action
def traced() -> dict[str, Any]:
    return {"trace": dict(context.trace), "attempt": context.attempt}


@action
def log_critical() -> None:
    context.log.critical("going down")
