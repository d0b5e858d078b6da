"""The functions of the behaviour suite, in Python."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

from ganger_worker import action, context


@action
def echo(value: Any) -> Any:
    return value


@action
def add(a: float, b: float) -> float:
    return a + b


@action
def count(to: int) -> Iterator[int]:
    yield from range(to)


@action
def pid() -> int:
    return os.getpid()


@action
def fail(text: str) -> None:
    raise ValueError(text)


@action
async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "napped"


@action
def polite() -> str:
    while not context.cancelled:
        time.sleep(0.002)
    return "stopped"


@action
def stubborn(seconds: float) -> str:
    time.sleep(seconds)
    return "ended"


@action
def leave(code: int) -> None:
    os._exit(code)


@action
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@action(idempotent=True)
def die_at_first(path: str) -> int:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return context.attempt
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@action
def attempt() -> int:
    return context.attempt


@action
def is_limited() -> bool:
    return context.remaining is not None
