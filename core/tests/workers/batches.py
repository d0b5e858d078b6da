"""Functions that take the inputs of several calls together."""

import os
import time
from pathlib import Path

from ganger_worker import action, context


@action(batch=(4, 60))
def sizes(numbers: list[int]) -> list[int]:
    return [len(numbers) for _ in numbers]


@action(batch=(1000, 0.02))
async def soon(numbers: list[int]) -> list[int]:
    return [-number for number in numbers]


@action(batch=(4, 60))
def roots(numbers: list[float]) -> list[float | Exception]:
    return [number**0.5 if number >= 0 else ValueError(f"{number} has none") for number in numbers]


@action(batch=(2, 60))
def too_few(numbers: list[int]) -> list[int]:
    return numbers[1:]


@action(batch=(3, 60), idempotent=True)
def deadly(words: list[str]) -> list[int]:
    if "die" in words:
        os.kill(os.getpid(), 9)
    return [len(words) for _ in words]


@action(batch=(2, 60))
def held(paths: list[str]) -> list[str]:
    """Until the file is there, or nobody waits any more."""
    Path(paths[0] + ".begun").touch()
    while not Path(paths[0]).exists():
        context.check()
        time.sleep(0.005)
    return ["held" for _ in paths]


@action
def pid() -> int:
    return os.getpid()
