"""Pickle between a Python app and a Python worker; used only when the host used it (R23)."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

RUN: Final = "ganger.run"
PROTOCOL: Final = 5


def run(
    function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """The function ``ganger.run``: calls what the host sent. Its input is ``(callable, args, kwargs)``."""
    return function(*args, **(kwargs or {}))


def dumps(value: object) -> bytes:
    """By name where pickle can, by value where only cloudpickle can and it is installed."""
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception:
        try:
            by_value: Any = importlib.import_module("cloudpickle")
        except ImportError:
            by_value = None
        if by_value is None:
            raise
        return bytes(by_value.dumps(value, PROTOCOL))


def dump_error(error: BaseException) -> bytes:
    """The exception, if it can be pickled and read again; else nothing, and the report alone tells of it."""
    try:
        data = dumps(error)
        again = pickle.loads(data)
    except Exception:
        return b""
    return data if type(again) is type(error) else b""
