"""The functions of the behaviour suite, in Python."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
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


made_so_far = 0


@action
def numbers(to: int) -> Iterator[int]:
    """Counts what it makes, for `made`."""
    global made_so_far
    for number in range(to):
        made_so_far += 1
        yield number


@action
def made() -> int:
    """How many `numbers` has made since this was asked before."""
    global made_so_far
    found, made_so_far = made_so_far, 0
    return found


@action(name="sum")
def total(start: int, numbers: Iterator[int]) -> int:
    for number in numbers:
        start += number
    return start


@action
def first(count: int, items: Iterator[Any]) -> list[Any]:
    return [next(items) for _ in range(count)]


@action
async def mirror(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for item in items:
        yield item


@action
def fail_after(count: int) -> Iterator[int]:
    yield from range(count)
    raise ValueError("that is all")


@action
def die_after(count: int) -> Iterator[int]:
    yield from range(count)
    die()


@action
def wait_after(count: int) -> Iterator[int]:
    yield from range(count)
    polite()


@action
def steps(count: int) -> int:
    for step in range(1, count + 1):
        context.progress(step, count, f"step {step}")
    return count


@action(batch=(3, 60))
def halves(numbers: list[int]) -> list[dict[str, int] | Exception]:
    def half(number: int) -> dict[str, int] | Exception:
        return ValueError(f"{number} is odd") if number % 2 else {"half": number // 2, "of": len(numbers)}

    return [half(number) for number in numbers]


@action(batch=(2, 60))
def too_few(numbers: list[int]) -> list[int]:
    return numbers[1:]


@action(batch=(2, 60))
async def nap_together(seconds: list[float]) -> list[str]:
    await asyncio.sleep(max(seconds))
    return ["napped"] * len(seconds)


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
