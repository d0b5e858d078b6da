"""JSON Schemas of the hints that ``hints`` does not describe itself, by msgspec; None where it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import inspect

Schema = dict[str, Any]


def of_type(hint: Any) -> Schema | None:
    try:
        schema = msgspec.json.schema(hint)
        _Moments(schema.get("$defs", {})).mark(inspect.type_info(hint), schema)
    except Exception:
        return None  # a type that msgspec does not know
    return _inline(schema)


def plain(value: object) -> object:
    """A default as its schema shows it."""
    return cast("object", msgspec.to_builtins(value))


class _Moments:
    """Says of datetimes anywhere in a type that they are such; msgspec does of those that need a zone."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions
        self._marked: set[str] = set()

    def mark(self, node: inspect.Type, schema: Schema) -> None:
        """``node`` is msgspec's description of the type that ``schema`` is of."""
        while isinstance(node, inspect.Metadata):
            node = node.type
        name = cast("str", schema.get("$ref", "")).rpartition("/")[2]
        if name in self._marked:
            return
        if name:
            self._marked.add(name)
            schema = self._definitions[name]
        if isinstance(node, inspect.DateTimeType) and node.tz is not False:
            schema.setdefault("format", "date-time")
        for part, place in _parts(node, schema):
            if isinstance(place, dict):
                self.mark(part, cast("Schema", place))


def _parts(node: Any, schema: Schema) -> Iterable[tuple[inspect.Type, object]]:
    """The types inside one, with the places that their schemas have."""
    if isinstance(node, inspect.UnionType):
        return zip(_in_order(node.types), _choices(schema), strict=False)
    if isinstance(node, inspect.CollectionType):
        return [(node.item_type, schema.get("items"))]
    if hasattr(node, "value_type"):
        return [(node.value_type, schema.get("additionalProperties"))]
    if isinstance(node, inspect.TupleType):
        return zip(node.item_types, schema.get("prefixItems", ()), strict=False)
    fields: tuple[inspect.Field, ...] = getattr(node, "fields", ())
    if "prefixItems" in schema:  # of which a tag may be the first
        places = schema["prefixItems"][-len(fields) :]
        return [(field.type, place) for field, place in zip(fields, places, strict=False)]
    properties = schema.get("properties", {})
    return [(field.type, properties.get(field.encode_name)) for field in fields]


def _in_order(members: Iterable[inspect.Type]) -> list[inspect.Type]:
    """As a schema has them: Structs behind the others, None last."""

    def rank(member: inspect.Type) -> int:
        while isinstance(member, inspect.Metadata):
            member = member.type
        if isinstance(member, inspect.NoneType):
            return 2
        return int(isinstance(member, inspect.StructType) and not member.array_like)

    return sorted(members, key=rank)


def _choices(schema: Schema) -> Iterable[object]:
    """Structs that are told apart by a tag are a choice within the choice."""
    for choice in schema["anyOf"]:
        yield from _choices(choice) if "discriminator" in choice else (choice,)


def _inline(schema: Schema) -> Schema:
    """A schema that only refers to its one definition becomes that definition."""
    definitions: Schema = schema.get("$defs", {})
    reference = schema.get("$ref")
    if reference is None or len(definitions) != 1:
        return schema
    only = cast("Schema", next(iter(definitions.values())))
    return schema if str(reference) in str(only) else only
