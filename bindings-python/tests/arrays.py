"""What the tests of pickled arrays send by name."""

from __future__ import annotations

import os
import signal
from typing import Any, NoReturn

_kept: list[Any] = []


class Parcel:
    """Of a type that offers its buffer to a pickle."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        import pickle

        return Parcel, (pickle.PickleBuffer(self.data),)


class Tied:
    def __init__(self, data: Any) -> None:
        self.data = memoryview(data)
        self.me = self


def echo(value: Any) -> Any:
    return value


def is_writable(array: Any) -> bool:
    return bool(array.flags.writeable)


def negated(array: Any) -> Any:
    """In place."""
    array[:] = 255 - array
    return array


def total(array: Any) -> int:
    return int(array.sum())


def filled(array: Any, number: int) -> tuple[int, int]:
    before = int(array.sum())
    array[:] = number
    return before, int(array.sum())


def first(parcel: Parcel) -> int:
    before = int(parcel.data[0])
    parcel.data[0] = before ^ 0xFF
    return before


def keep(array: Any) -> None:
    _kept.append(array)


def kept() -> Any:
    return _kept.pop()


def tied(array: Any) -> int:
    return Tied(array).data.nbytes


def fail(array: Any) -> NoReturn:
    raise ZeroDivisionError(len(array))


def fail_with(array: Any) -> NoReturn:
    raise ValueError("with an array", array)


def die(array: Any) -> None:
    array[:] = 0
    os.kill(os.getpid(), signal.SIGKILL)


def fork_with(array: Any) -> tuple[int, int]:
    """A child that tells what it sees in the array once it is asked."""
    asked, ask_it = os.pipe()
    answer, give = os.pipe()
    if os.fork() == 0:
        os.close(ask_it)
        os.read(asked, 1)
        os.write(give, str(int(array.sum())).encode())
        os._exit(0)
    os.close(asked)
    os.close(give)
    return ask_it, answer


def ask(pipes: tuple[int, int]) -> int:
    ask_it, answer = pipes
    os.write(ask_it, b"x")
    told = os.read(answer, 100)
    os.close(ask_it)
    os.close(answer)
    os.wait()
    return int(told)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
