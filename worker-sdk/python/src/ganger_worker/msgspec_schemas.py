"""JSON Schemas of the hints that ``hints`` does not describe itself, by msgspec; None where it cannot."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import msgspec

Schema = dict[str, Any]


def of_type(hint: Any) -> Schema | None:
    if hint is dt.datetime:
        return {"type": "string", "format": "date-time"}  # which msgspec says only of those with a time zone
    try:
        return _inline(msgspec.json.schema(hint))
    except Exception:
        return None  # a type that msgspec does not know


def plain(value: object) -> object:
    """A default as its schema shows it."""
    return cast("object", msgspec.to_builtins(value))


def _inline(schema: Schema) -> Schema:
    """A schema that only refers to its one definition becomes that definition."""
    definitions: Schema = schema.get("$defs", {})
    reference = schema.get("$ref")
    if reference is None or len(definitions) != 1:
        return schema
    only = cast("Schema", next(iter(definitions.values())))
    return schema if str(reference) in str(only) else only
