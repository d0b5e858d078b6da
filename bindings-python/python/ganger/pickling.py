"""Pickles for workers: by name what they can import, by value what only this process has."""

from __future__ import annotations

import functools
import importlib
import io
import pickle
import sys
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
        by_value = _by_value_pickler()
    except ImportError:
        raise InvalidInput(
            f"a function or its arguments cannot be pickled: {problem}{_hint(problem)}"
        ) from problem
    try:
        by_value(out, PROTOCOL, kept).dump(value)
    except Exception as error:
        raise InvalidInput(f"a function or its arguments cannot be pickled: {error}") from error


def _hint(problem: Exception) -> str:
    if not isinstance(problem, (pickle.PicklingError, AttributeError)):
        return ""  # It would not help.
    return (
        "; what is defined in __main__, lambdas and local functions can be sent when cloudpickle is installed"
        " (pip install cloudpickle)"
    )


class _ByName(pickle.Pickler):
    def reducer_override(self, obj: Any, /) -> Any:
        # A worker has another __main__, and would look there in vain.
        if isinstance(obj, (FunctionType, type)) and obj.__module__ == "__main__":
            raise pickle.PicklingError(f"{obj.__qualname__} is defined in __main__")
        return NotImplemented


@functools.cache
def _by_value_pickler() -> Any:
    cloudpickle: Any = importlib.import_module("cloudpickle")

    class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any, /) -> Any:
            reduced = cloudpickle.Pickler.reducer_override(self, obj)
            if isinstance(obj, FunctionType) and obj.__globals__ is vars(sys.modules["__main__"]):
                return _with_globals_of_main(reduced)
            return reduced

    return ByValue


def _with_globals_of_main(reduced: Any) -> Any:
    """Functions of ``__main__`` share its globals in a worker, too, from call to call: what an initializer
    assigns there is there for the functions. cloudpickle by itself gives each pickle globals of its own."""
    match reduced:
        case (make, (code, base, *others), (_, {"__globals__": _}) as state, None, None, setter) if base:
            return make, (code, _Globals(base), *others), (state, setter), None, None, _There("fill")
        case _:  # by name, or a cloudpickle that does it otherwise
            return reduced


class _There:
    """Something of the worker's own module for this, which need not be installed here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> Any:
        return getattr, (_Module(), self._name)

    def __call__(self) -> None:
        """Only so that pickle takes it for a function."""


class _Module:
    def __reduce__(self) -> Any:
        return importlib.import_module, ("ganger_worker.main_globals",)


class _Globals:
    def __init__(self, base: dict[str, Any]) -> None:
        self._base = base

    def __reduce__(self) -> Any:
        return _There("shared"), (self._base,)
