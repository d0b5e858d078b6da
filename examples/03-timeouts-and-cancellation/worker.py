"""Functions that stop when asked, and one that does not."""

import asyncio
import os
import time

from ganger_worker import action, context


@action
async def nap(seconds: float) -> str:
    """A coroutine needs nothing: it is cancelled where it waits."""
    await asyncio.sleep(seconds)
    return f"a nap of {seconds} s"


@action
def compute() -> int:
    """A long computation asks now and then whether anybody still wants it."""
    rounds = 0
    while True:
        rounds += 1
        context.check()  # raises once the call was cancelled or took too long


@action
def stubborn() -> None:
    time.sleep(3600)


@action
def pid() -> int:
    return os.getpid()
