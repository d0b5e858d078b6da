"""JSON Schemas of a function's input and output, from its type hints; None where they cannot be told."""

from __future__ import annotations

from . import messagepack
from .hints import EMPTY, item_of, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .hints import Schema
    from .signature import Parameter, Signature


def of_input(signature: Signature) -> Schema | None:
    if not signature.known:
        return None
    if signature.takes_whole_input:
        return of_type(next(it.hint for it in signature.parameters if it.name != signature.stream))
    properties = {parameter.name: _of_parameter(parameter) for parameter in signature.parameters}
    schema: Schema = {"type": "object", "properties": properties}
    required = [parameter.name for parameter in signature.parameters if parameter.required]
    if required:
        schema["required"] = required
    if not signature.variable_named:
        schema["additionalProperties"] = False
    positional = [it.name for it in signature.parameters if not it.keyword_only]
    if positional:
        schema["x-positional"] = positional
    definitions: Schema = {}
    for part in properties.values():
        definitions.update(part.pop("$defs", {}))
    if definitions:
        schema["$defs"] = definitions
    return schema


def of_output(signature: Signature, streams: bool) -> Schema | None:
    """For a stream: of one item."""
    hint = signature.returns
    if hint is EMPTY:
        return None
    if streams:
        item = item_of(hint)
        return None if item is EMPTY else of_type(item)
    return of_type(hint)


def of_type(hint: Any) -> Schema | None:
    simple = schema(hint)
    if simple is not None:
        return simple
    try:
        from . import msgspec_schemas
    except ImportError:
        return None
    return msgspec_schemas.of_type(hint)


def _of_parameter(parameter: Parameter) -> Schema:
    described = {} if parameter.hint is EMPTY else of_type(parameter.hint) or {}
    if not parameter.required and not isinstance(parameter.default, type):
        try:
            default = _plain_default(parameter.default)
            messagepack.encode(default)
        except Exception:
            return described  # it has no form in JSON
        described["default"] = default
    return described


def _plain_default(default: object) -> object:
    kind = type(default)
    if default is None or kind in (bool, int, float, str) or (kind in (tuple, list, dict) and not default):
        return default
    from . import msgspec_schemas

    return msgspec_schemas.plain(default)
