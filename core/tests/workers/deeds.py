"""What a worker may do to a pool, one deed a function."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from ganger_worker import action, context, shutdown, startup

_how = os.environ.get("DIE_AT_IMPORT")
if _how and _how.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, _how))
elif _how:
    os._exit(int(_how))


@startup
def noisy_start() -> None:
    if os.environ.get("NOISY"):
        print("printed at import")
        threading.Thread(target=lambda: print("printed by a thread\n", end="")).start()  # in one piece
        os.write(1, b"written from below\n")
        said = "echo printed by a grandchild; echo complaint of a grandchild >&2"
        subprocess.run(["sh", "-c", said], check=True)


@shutdown
def last_deed() -> None:
    how = os.environ.get("DIE_AT_STOP")
    if how:
        leave(how)


@action
def echo(x: object) -> object:
    return x


@action
def pid() -> int:
    return os.getpid()


@action
def leave(how: str) -> None:
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(60)
    elif how == "abort":
        os.abort()
    os._exit(int(how))


@action
def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


@action
async def nap(seconds: float) -> str:
    import asyncio

    await asyncio.sleep(seconds)
    return "napped"


@action
async def meet(place: str, guests: int) -> None:
    """Ends once so many of these run at once."""
    import asyncio

    with open(place, "ab", buffering=0) as book:
        book.write(b"1")
    while os.path.getsize(place) < guests:
        await asyncio.sleep(0.005)


@action
def stubborn() -> None:
    while True:
        time.sleep(0.01)


@action
def hold(gate: str) -> str:
    """Runs until there is a file of that name; one beside it says that it has begun."""
    with open(f"{gate}.begun", "w"):
        pass
    while not os.path.exists(gate):
        time.sleep(0.002)
    return "held"


@action
def polite() -> str:
    while not context.cancelled:
        time.sleep(0.005)
    return "stopped"


@action
def note_and_die(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    os.kill(os.getpid(), signal.SIGKILL)


@action
def complain(lines: int) -> None:
    for number in range(lines):
        print(f"complaint {number}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)


@action
def grandchild() -> int:
    return subprocess.Popen(["sleep", "1000"]).pid


@action
def numbers(to: int) -> Iterator[int]:
    yield from range(to)


@action
def mirror(items: Iterator[object]) -> Iterator[object]:
    yield from items
