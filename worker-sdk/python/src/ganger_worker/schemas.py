"""JSON Schemas of a function's input and output, from its type hints; None where they cannot be told."""

from __future__ import annotations

import typing
from typing import Any, cast

from . import values
from .signature import EMPTY, Parameter, Signature
from .values import msgspec

Schema = dict[str, Any]


def of_input(signature: Signature) -> Schema | None:
    if not values.FAST or not signature.known:
        return None
    if signature.takes_whole_input:
        return of_type(signature.parameters[0].hint)
    properties = {parameter.name: _of_parameter(parameter) for parameter in signature.parameters}
    schema: Schema = {"type": "object", "properties": properties}
    required = [parameter.name for parameter in signature.parameters if parameter.required]
    if required:
        schema["required"] = required
    if not signature.variable_named:
        schema["additionalProperties"] = False
    definitions: Schema = {}
    for part in properties.values():
        definitions.update(part.pop("$defs", {}))
    if definitions:
        schema["$defs"] = definitions
    return schema


def of_output(signature: Signature, streams: bool) -> Schema | None:
    """For a stream: of one item."""
    hint = signature.returns
    if hint is EMPTY or not values.FAST:
        return None
    if streams:
        items = typing.get_args(hint)
        return of_type(items[0]) if items else None
    return of_type(hint)


def of_type(hint: Any) -> Schema | None:
    try:
        return _inline(msgspec.json.schema(hint))
    except Exception:
        return None  # a type that msgspec does not know


def _of_parameter(parameter: Parameter) -> Schema:
    schema = {} if parameter.hint in (EMPTY, Any) else of_type(parameter.hint) or {}
    try:
        if not parameter.required:
            schema = {**schema, "default": cast("object", msgspec.to_builtins(parameter.default))}
            values.encode(schema)
    except Exception:
        schema.pop("default", None)
    return schema


def _inline(schema: Schema) -> Schema:
    """A schema that only refers to its one definition becomes that definition."""
    definitions: Schema = schema.get("$defs", {})
    reference = schema.get("$ref")
    if reference is None or len(definitions) != 1:
        return schema
    only = cast("Schema", next(iter(definitions.values())))
    return schema if str(reference) in str(only) else only
