"""Pickles for workers: by name what they can import, by value what only this process has."""

from __future__ import annotations

import importlib
import io
import pickle
from types import FunctionType
from typing import TYPE_CHECKING, Any

from . import buffers
from ._generated.errors import InvalidInput
from .buffers import Kept, Pieces

if TYPE_CHECKING:
    from . import _native

PROTOCOL = 5


def dumps(value: object) -> bytes:
    """Functions and classes of ``__main__``, lambdas and local functions take cloudpickle."""
    out = io.BytesIO()
    try:
        _ByName(out, PROTOCOL).dump(value)
    except Exception as problem:
        out = io.BytesIO()
        _by_value(value, out, None, problem)
    return out.getvalue()


def payload(value: object, pool: _native.Pool) -> bytes | _native.Block:
    """The same for a call of the pool. What is large in the value is copied once: to where workers see it."""
    pieces, kept = Pieces(), Kept()
    try:
        _ByName(pieces, PROTOCOL, buffer_callback=kept).dump(value)
    except Exception as problem:
        pieces, kept = Pieces(), Kept()
        _by_value(value, pieces, kept, problem)
    return buffers.payload(pieces, kept, pool)


def _by_value(value: object, out: io.BytesIO | Pieces, kept: Kept | None, problem: Exception) -> None:
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")
    except ImportError:
        hint = "functions of __main__, lambdas and local functions can be sent when cloudpickle is installed"
        raise InvalidInput(f"{problem}; {hint}") from problem
    try:
        cloudpickle.Pickler(out, PROTOCOL, kept).dump(value)
    except Exception as error:
        raise InvalidInput(f"it cannot be pickled: {error}") from error


class _ByName(pickle.Pickler):
    def reducer_override(self, obj: Any, /) -> Any:
        # A worker has another __main__, and would look there in vain.
        if isinstance(obj, (FunctionType, type)) and obj.__module__ == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} is defined in __main__")
        return NotImplemented
