"""What the tests of ``ProcessPool`` send by name."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

_kept: list[str] = []


@dataclass
class Thing:
    size: int


def double(thing: Thing) -> Thing:
    return Thing(thing.size * 2)


class Custom(Exception):
    def __init__(self, text: str, number: int = 7) -> None:
        super().__init__(text)
        self.number = number


class Unreadable(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def fail() -> NoReturn:
    raise Custom("custom")


def fail_unreadably() -> NoReturn:
    raise Unreadable(1, 2)


def divide(by: int) -> float:
    return 1 / by


class Only:
    """Can be made where it is pickled only."""

    def __init__(self, made_in: int) -> None:
        if made_in != os.getpid():
            raise RuntimeError("made elsewhere")

    def __reduce__(self) -> tuple[Any, ...]:
        return Only, (os.getpid(),)


def only_there() -> Only:
    return Only(os.getpid())


def remember(what: str) -> None:
    _kept.append(what)


def remembered(_: int) -> str:
    return ",".join(_kept)


def wait_for(path: Path) -> str:
    while not path.exists():
        time.sleep(0.01)
    return "there"


def begin_and_spin(path: Path) -> None:
    path.touch()
    while True:
        pass


def own_pid() -> int:
    return os.getpid()


class Hostile(Exception):
    """Cannot be pickled, or cannot be read again, in one way or another."""

    def __init__(self, how: str) -> None:
        super().__init__(f"hostile: {how}")
        self.how = how

    def __reduce__(self) -> tuple[Any, ...]:
        if self.how == "reduce raises":
            raise RuntimeError("not to be pickled")
        return _read_hostile, (self.how,)


def _read_hostile(how: str) -> Hostile:
    if how == "reading raises":
        raise RuntimeError("not to be read")
    if how == "reading exits":
        sys.exit("not to be read")
    return Hostile()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def fail_hostilely(how: str) -> NoReturn:
    raise Hostile(how)


class EndsReader:
    """Exits where it is read, unless it was made there."""

    def __init__(self, made_in: int) -> None:
        if made_in != os.getpid():
            sys.exit("not to be read here")

    def __reduce__(self) -> tuple[Any, ...]:
        return EndsReader, (os.getpid(),)


def ends_its_reader() -> EndsReader:
    return EndsReader(os.getpid())
