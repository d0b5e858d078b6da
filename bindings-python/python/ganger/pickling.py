"""Pickles for workers: by name what they can import, by value what only this process has."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeAlias

from ._generated.errors import InvalidInput
from .buffers import Buffers

PROTOCOL = 5

_TakeBuffer: TypeAlias = Callable[[pickle.PickleBuffer], bool] | None


def dumps(value: object) -> bytes:
    """Functions and classes of ``__main__``, lambdas and local functions take cloudpickle."""
    out = io.BytesIO()
    try:
        _ByName(out, PROTOCOL).dump(value)
    except Exception as problem:
        out = io.BytesIO()
        _by_value(value, out, None, problem)
    return out.getvalue()


def dump(value: object) -> Buffers:
    """The same in parts: what is large in it is not copied, and must not change meanwhile."""
    out = Buffers()
    try:
        _ByName(out, PROTOCOL, buffer_callback=out.keep).dump(value)
    except Exception as problem:
        out = Buffers()
        _by_value(value, out, out.keep, problem)
    return out


def _by_value(value: object, out: io.BytesIO | Buffers, keep: _TakeBuffer, problem: Exception) -> None:
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
    except ImportError:
        hint = "functions of __main__, lambdas and local functions can be sent when cloudpickle is installed"
        raise InvalidInput(f"{problem}; {hint}") from problem
    try:
        cloudpickle.Pickler(out, PROTOCOL, keep).dump(value)
    except Exception as error:
        raise InvalidInput(f"it cannot be pickled: {error}") from error


class _ByName(pickle.Pickler):
    def reducer_override(self, obj: Any, /) -> Any:
        # A worker has another __main__, and would look there in vain.
        if isinstance(obj, (FunctionType, type)) and obj.__module__ == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} is defined in __main__")
        return NotImplemented
