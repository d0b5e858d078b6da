"""The functions that the Python peers run in their workers."""

import os
import time
from collections.abc import Iterator
from typing import Any

BLOCK = bytearray(range(256)) * 256


def noop(payload: dict[str, int]) -> dict[str, int]:
    return payload


def echo(payload: bytes) -> bytes:
    return payload


def view(payload: memoryview) -> memoryview:
    return payload


def item(number: int) -> dict[str, int]:
    return {"a": number}


def block(number: int) -> bytes:
    """64 KiB, each time anew: pickled in a list, the same bytes would be sent once."""
    del number
    return bytes(BLOCK)


def items(payload: dict[str, int]) -> Iterator[Any]:
    """So many small items, or blocks."""
    make = block if payload["blocks"] else item
    for number in range(payload["count"]):
        yield make(number)


def wait(payload: dict[str, int]) -> int:
    time.sleep(payload["ms"] / 1000)
    return payload["ms"]


def pid(payload: dict[str, int]) -> int:
    """After some time, so that every worker has to answer when as many are asked at once."""
    time.sleep(payload["ms"] / 1000)
    return os.getpid()
