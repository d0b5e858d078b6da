"""The functions that the Python peers run in their workers."""

import time


def noop(payload: dict[str, int]) -> dict[str, int]:
    return payload


def echo(payload: bytes) -> bytes:
    return payload


def wait(payload: dict[str, int]) -> int:
    time.sleep(payload["ms"] / 1000)
    return payload["ms"]
