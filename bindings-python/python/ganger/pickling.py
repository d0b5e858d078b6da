"""Pickles for workers: by name what they can import, by value what only this process has."""

from __future__ import annotations

import importlib
import io
import pickle
from types import FunctionType
from typing import Any

from ._generated.errors import InvalidInput

PROTOCOL = 5


def dumps(value: object) -> bytes:
    """Functions and classes of ``__main__``, lambdas and local functions take cloudpickle."""
    out = io.BytesIO()
    try:
        _ByName(out, PROTOCOL).dump(value)
        return out.getvalue()
    except Exception as problem:
        return _by_value(value, problem)


def _by_value(value: object, problem: Exception) -> bytes:
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
    except ImportError:
        hint = "functions of __main__, lambdas and local functions can be sent when cloudpickle is installed"
        raise InvalidInput(f"{problem}; {hint}") from problem
    try:
        return bytes(cloudpickle.dumps(value, PROTOCOL))
    except Exception as error:
        raise InvalidInput(f"it cannot be pickled: {error}") from error


class _ByName(pickle.Pickler):
    def reducer_override(self, obj: Any, /) -> Any:
        # A worker has another __main__, and would look there in vain.
        if isinstance(obj, (FunctionType, type)) and obj.__module__ == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} is defined in __main__")
        return NotImplemented
