"""A worker that has a model to load: two seconds and 300 MB, of which hardly any is work. It may leak."""

import os
import time

from ganger_worker import action, startup

LOAD_S = float(os.environ.get("MODEL_SECONDS", "2"))
SIZE = int(os.environ.get("MODEL_MB", "300")) << 20
PAGE = 4096
_parts: list[bytearray] = []
_leaked: list[bytearray] = []


@startup
def load() -> None:
    ready_at = time.monotonic() + LOAD_S
    for _ in range(10):
        _parts.append(_held(SIZE // 10))
        time.sleep(LOAD_S / 20)
    time.sleep(max(0.0, ready_at - time.monotonic()))


@action
def answer(ms: float) -> int:
    time.sleep(ms / 1000)
    return os.getpid()


@action
def leak(ms: float, megabytes: int) -> int:
    _leaked.append(_held(megabytes << 20))
    return answer(ms)


def _held(size: int) -> bytearray:
    """Written to in every page, or the system has not given it yet."""
    memory = bytearray(size)
    memory[::PAGE] = b"\1" * -(-size // PAGE)
    return memory
