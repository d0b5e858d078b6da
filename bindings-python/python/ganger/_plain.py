"""Values of less usual types in the form in which they cross; worker SDKs have the same list."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast


def plain(value: object) -> object:
    """A value as one of the types that cross as they are; TypeError for what has no such form."""
    if isinstance(value, enum.Enum):
        return cast("object", value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for kind, convert in _FORMS:
        if isinstance(value, kind):
            return convert(value)
    fields = getattr(type(value), "__struct_fields__", None)
    if fields is not None:  # a msgspec.Struct
        return {name: getattr(value, name) for name in fields}
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return cast("object", cast("Any", value).item())
    raise TypeError(f"object of type '{_type_name(type(value))}'")


def _type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _duration(value: dt.timedelta) -> str:
    """In ISO 8601: ``P1DT2.5S``."""
    sign, length = ("-", -value) if value.days < 0 else ("", value)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    seconds = f"T{length.seconds}{fraction}S" if length.seconds or fraction else ""
    return f"{sign}P{length.days}D{seconds}" if length.days or not seconds else f"{sign}P{seconds}"


_FORMS: Final[tuple[tuple[Any, Callable[[Any], object]], ...]] = (
    (bool, bool),
    (int, int),
    (float, float),
    (str, str.__str__),
    (uuid.UUID, str),
    (decimal.Decimal, str),
    (tuple, list),
    (list, list),
    (AbstractSet, list),
    (Mapping, dict),
    (dt.datetime, lambda value: dt.datetime.combine(value.date(), value.time(), value.tzinfo)),
    (dt.date, dt.date.isoformat),
    (dt.time, dt.time.isoformat),
    (dt.timedelta, _duration),
    (bytes, bytes),
)
