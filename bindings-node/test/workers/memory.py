"""Functions for large payloads, in Python."""

import os
import signal
import time
from typing import Any

from ganger_worker import action, context

kept: list[memoryview] = []


@action
def pid() -> int:
    return os.getpid()


@action
def echo(value):  # type: ignore[no-untyped-def]
    return value


@action
def made(size: int, byte: int) -> bytes:
    return bytes([byte]) * size


@action
def about(value: memoryview) -> list[int | None]:
    return [len(value), value[0] if value else None, value[-1] if value else None]


@action
def kind(value) -> str:  # type: ignore[no-untyped-def]
    return type(value).__name__


@action
def nested(size: int, byte: int) -> dict[str, Any]:
    return {"list": [bytes([byte]) * size, "x" * size]}


@action
def keep(value: memoryview) -> memoryview:
    kept.append(value)
    return value


@action
def kept_bytes() -> list[int]:
    return [value[0] for value in kept]


@action
def kill(_value: memoryview) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@action
def once(value: memoryview) -> memoryview:
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


@action
def stubborn(value: memoryview) -> memoryview:
    """Answers although it was asked to stop."""
    time.sleep(0.1)
    return value
