"""Pickle between a Python app and a Python worker; used only when the host used it (R23)."""

from __future__ import annotations

import pickle

from .buffers import Kept, Pieces, laid_out, loads
from .function import Function, Style
from .protocol import RUN, Encoding
from .typed import cast
from .values import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Final

PROTOCOL: Final = 5


def run_function() -> Function:
    return Function(RUN, run, Style.SYNC, run_arguments)


def run(
    function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """The function ``ganger.run``: calls what the host sent."""
    return function(*args, **(kwargs or {}))


def run_arguments(
    encoding: int, shape: int, payload: bytes | memoryview
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Its input is ``(callable, args, kwargs)``; in shape 1 these are its positional arguments."""
    if encoding != Encoding.PICKLE:
        raise Refused("$", f"{RUN} reads pickles only")
    value = loads(payload)
    parts: Any = value[0] if shape == 1 else value
    if not isinstance(parts, (tuple, list)) or not 1 <= len(cast("Sequence[Any]", parts)) <= 3:
        raise Refused("$", f"the input of {RUN} is (callable, args, kwargs)")
    return tuple(cast("Sequence[Any]", parts)), {}


def dump(value: object) -> bytes | list[bytes | memoryview]:
    """As `dumps`, in parts: what is large in it is not copied."""
    kept = Kept()
    try:
        if type(value) in (bytes, bytearray):
            pieces = Pieces()
            pickle.Pickler(pieces, PROTOCOL).dump(value)
        else:
            data = pickle.dumps(value, PROTOCOL, buffer_callback=kept)
            if not kept:
                return data
            pieces = Pieces([data])
    except Exception:
        by_value = _cloudpickle()
        if by_value is None:
            raise
        pieces, kept = Pieces(), Kept()
        by_value.Pickler(pieces, PROTOCOL, kept).dump(value)
    return laid_out(pieces, kept)


def dumps(value: object) -> bytes:
    """By name where pickle can, by value where only cloudpickle can and it is installed."""
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception:
        by_value = _cloudpickle()
        if by_value is None:
            raise
        return bytes(by_value.dumps(value, PROTOCOL))


def dump_error(error: BaseException) -> bytes:
    """The exception, if it can be pickled and read again; else nothing, and the report alone tells of it."""
    try:
        data = dumps(error)
        again = pickle.loads(data)
    except BaseException:  # both run code of the exception's class
        return b""
    return data if type(again) is type(error) else b""


def _cloudpickle() -> Any:
    try:
        return __import__("cloudpickle")
    except ImportError:
        return None
