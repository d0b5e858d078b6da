"""The codec by msgspec: fast, but laxer than the protocol (it lets integer keys and naive datetimes pass).

So what it made is looked over; and where it fails, the pure codec goes over the same data once more to name
the path. Importing this takes longer than a worker's start: ``values`` does it when it pays.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, cast

import msgspec

from . import messagepack
from .messagepack import Refused
from .plain import plain

_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes, bytearray})


def encode(value: object) -> bytes:
    """MessagePack of a value; raises Refused with the path of what cannot cross."""
    try:
        if type(value) not in _SCALARS:
            _check(value)
        return _encoder.encode(value)
    except Exception as error:
        messagepack.encode(value)  # raises Refused with the path
        raise Refused("$", str(error)) from error


def decode(data: bytes | memoryview) -> object:
    """The value of a MessagePack payload; raises Refused with the path of what is not allowed."""
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
    try:
        return cast("object", _lax_decoder.decode(data))
    except Exception:
        return messagepack.decode(data, lax=True)


def lax_keys(value: object) -> bool:
    """Whether something in a decoded value has keys that are not strings."""
    try:
        _check(value)
    except _Lax:
        return True
    return False


class _Lax(Exception):
    """msgspec would let this pass, the protocol does not."""


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


_encoder: Final = msgspec.msgpack.Encoder(enc_hook=plain)
_lax_decoder: Final[msgspec.msgpack.Decoder[Any]] = msgspec.msgpack.Decoder()
_decoder: Final[msgspec.msgpack.Decoder[Any]] = msgspec.msgpack.Decoder(ext_hook=_raise_ext)
