"""The functions that the Python peers run in their workers."""

import os
import time


def noop(payload: dict[str, int]) -> dict[str, int]:
    return payload


def echo(payload: bytes) -> bytes:
    return payload


def view(payload: memoryview) -> memoryview:
    return payload


def wait(payload: dict[str, int]) -> int:
    time.sleep(payload["ms"] / 1000)
    return payload["ms"]


def pid(payload: dict[str, int]) -> int:
    """After some time, so that every worker has to answer when as many are asked at once."""
    time.sleep(payload["ms"] / 1000)
    return os.getpid()
