"""Functions of a worker that has a model to load, for pools that are given functions."""

import os
import time

LOAD_S = 1.0
SIZE = 100 << 20
PAGE = 4096
_parts: list[bytearray] = []


def load() -> None:
    """Takes a second, of which hardly any is work, and 100 MiB."""
    ready_at = time.monotonic() + LOAD_S
    memory = bytearray(SIZE)
    memory[::PAGE] = b"\1" * -(-SIZE // PAGE)
    _parts.append(memory)
    time.sleep(max(0.0, ready_at - time.monotonic()))


def answer(ms: float) -> int:
    time.sleep(ms / 1000)
    return os.getpid()
