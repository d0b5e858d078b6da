"""The functions that `ganger check` looks for, in Python (SPEC chapter 11)."""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict

from ganger_worker import action, context, shutdown, startup


@startup
def check_start() -> None:
    if os.environ.get("GANGER_CHECK") == "fail":
        raise RuntimeError("told to fail")
    context.log.info("start-up")


@shutdown
def check_end() -> None:
    print("shutdown")


@action
def check_hooks() -> None: ...


@action
def check_echo(value: Any) -> Any:
    return value


@action
def check_bytes(count: int) -> bytes:
    return bytes(count)


@action
def check_fail(text: str) -> None:
    raise ValueError(text)


@action
def check_number(number: int) -> int:
    return number


@action
def check_odd() -> object:
    return object()


@action
def check_context() -> dict[str, Any]:
    remaining = context.remaining
    return {
        "attempt": context.attempt,
        "remaining_ms": None if remaining is None else remaining * 1000,
        "trace": dict(context.trace),
    }


@action
def check_say(text: str) -> None:
    context.log.warning(text)
    context.progress(1, 2, "half")
    print(text)


@action
def check_wait() -> None:
    context.progress(0)
    for _ in range(30_000):
        context.check()
        time.sleep(0.002)


@action
def check_exit(code: int) -> None:
    os._exit(code)


@action
def check_count(count: int, bytes: int, fail: bool) -> Iterator[Any]:
    for number in range(count):
        yield b"\0" * bytes if bytes else number
    if fail:
        raise ValueError("no more")


@action
def check_sum(numbers: Iterator[int]) -> int:
    return sum(numbers)


class Asked(TypedDict):
    number: int
    fail: bool
    wait: bool
    short: NotRequired[bool]


another = threading.Event()


@action(batch=(4, 0))
def check_batch(all: list[Asked]) -> list[dict[str, int] | Exception]:
    if any(asked["wait"] for asked in all):
        wait_for_another()
    else:
        another.set()

    def end(asked: Asked) -> dict[str, int] | Exception:
        number = asked["number"]
        return ValueError(f"{number} fails") if asked["fail"] else {"number": number, "of": len(all)}

    short = any(asked.get("short") for asked in all)
    return [end(asked) for asked in all][short:]


def wait_for_another() -> None:
    another.clear()
    context.progress(0)
    for _ in range(30_000):
        context.check()
        if another.wait(0.002):
            return
