"""Timestamps (MessagePack extension -1) as datetimes, in our own codec; imported with the first of them."""

from __future__ import annotations

import datetime as dt
from _struct import Struct

from .messagepack import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeGuard

EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_I, _Q, _q = Struct(">I"), Struct(">Q"), Struct(">q")


def is_one(value: object) -> TypeGuard[dt.datetime]:
    return type(value) is dt.datetime


def write(value: dt.datetime, path: str) -> bytes:
    if value.tzinfo is None:
        raise Refused(path, "a datetime without a time zone")
    delta = value - EPOCH
    seconds, nanoseconds = delta.days * 86400 + delta.seconds, delta.microseconds * 1000
    if nanoseconds == 0 and 0 <= seconds < 1 << 32:
        return b"\xd6\xff" + _I.pack(seconds)
    if 0 <= seconds < 1 << 34:
        return b"\xd7\xff" + _Q.pack(nanoseconds << 34 | seconds)
    return b"\xc7\x0c\xff" + _I.pack(nanoseconds) + _q.pack(seconds)


def read(data: bytes, path: str) -> dt.datetime:
    nanoseconds = 0
    if len(data) == 4:
        seconds = _I.unpack(data)[0]
    elif len(data) == 8:
        packed = _Q.unpack(data)[0]
        nanoseconds, seconds = packed >> 34, packed & 0x3_FFFF_FFFF
    elif len(data) == 12:
        nanoseconds, seconds = _I.unpack(data[:4])[0], _q.unpack(data[4:])[0]
    else:
        raise Refused(path, f"a timestamp of {len(data)} bytes")
    if nanoseconds > 999_999_999:
        raise Refused(path, "a timestamp with more than 999 999 999 nanoseconds")
    try:
        return EPOCH + dt.timedelta(seconds=seconds, microseconds=(nanoseconds + 500) // 1000)
    except OverflowError:
        raise Refused(path, "a timestamp beyond year 9999") from None
