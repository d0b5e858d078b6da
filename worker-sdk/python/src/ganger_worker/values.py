"""Values to MessagePack and back: msgspec where it can be imported, else our own codec.

msgspec is fast but laxer than the protocol (it lets integer keys and naive datetimes pass), so what it made
is looked over; and where it fails, the pure codec goes over the same data once more to name the path.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any, Final, cast

from . import messagepack
from .messagepack import Refused, plain

__all__ = ["FAST", "Refused", "decode", "decode_body", "depth", "encode", "lax_keys", "msgspec"]


def _import_msgspec() -> Any:
    try:
        import msgspec
    except ImportError:
        return None
    return msgspec


msgspec: Final = _import_msgspec()
FAST: Final[bool] = msgspec is not None
_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes, bytearray})


def encode(value: object) -> bytes:
    """MessagePack of a value; raises Refused with the path of what cannot cross."""
    if not FAST:
        return messagepack.encode(value)
    try:
        if type(value) not in _SCALARS:
            _check(value)
        return cast("bytes", _encoder.encode(value))
    except Exception as error:
        messagepack.encode(value)  # raises Refused with the path
        raise Refused("$", str(error)) from error


def decode(data: bytes | memoryview) -> object:
    """The value of a MessagePack payload; raises Refused with the path of what is not allowed."""
    if not FAST:
        return messagepack.decode(data)
    try:
        value: object = _decoder.decode(data)
        kind = type(value)
        if kind is dict or kind is list:
            _check(value)
        return value
    except Exception as error:
        messagepack.decode(data)
        raise Refused("$", str(error)) from error


def decode_body(data: bytes) -> object:
    """A body's value. Unlike a payload's it may hold anything in places that this version does not read."""
    if FAST:
        try:
            return cast("object", _lax_decoder.decode(data))
        except Exception:
            pass
    return messagepack.decode(data, lax=True)


def depth(value: object) -> int:
    """How deep lists and maps are nested in a decoded value."""
    deepest, level = 0, [value]
    while containers := [cast("Any", item) for item in level if isinstance(item, (dict, list))]:
        deepest += 1
        level = [item for container in containers for item in _inside(container)]
    return deepest


def _inside(container: Any) -> Iterable[object]:
    return cast("Iterable[object]", container.values() if isinstance(container, dict) else container)


class _Lax(Exception):
    """msgspec would let this pass, the protocol does not."""


def lax_keys(value: object) -> bool:
    """Whether something in a decoded value has keys that are not strings."""
    try:
        _check(value)
    except _Lax:
        return True
    return False


def _check(value: object) -> None:
    kind = type(value)
    if kind is dict:
        for key, item in cast("dict[object, object]", value).items():
            if type(key) is not str and not isinstance(key, str):
                raise _Lax
            if type(item) not in _SCALARS:
                _check(item)
    elif kind is list or kind is tuple:
        items = cast("list[object]", value)
        # The set of types is built in C: long lists of numbers cost little.
        if not _SCALARS.issuperset(map(type, items)):
            for item in items:
                if type(item) not in _SCALARS:
                    _check(item)
    elif kind is dt.datetime:
        if cast("dt.datetime", value).tzinfo is None:
            raise _Lax
    elif kind not in _SCALARS and kind is not memoryview:
        _check(plain(value))


def _raise_ext(code: int, _data: Any) -> object:
    raise Refused("$", f"MessagePack extension {code}")


if FAST:
    _encoder = msgspec.msgpack.Encoder(enc_hook=plain)
    _lax_decoder = msgspec.msgpack.Decoder()
    _decoder = msgspec.msgpack.Decoder(ext_hook=_raise_ext)
