"""Type hints that can be read without typing and described without msgspec, in the words of msgspec."""

from __future__ import annotations

import sys
from _collections_abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
)

from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from types import FunctionType
    from typing import Any, Final

    Schema = dict[str, Any]


class EMPTY:
    """Stands for no hint, and for no default."""


_SCHEMAS: Final[dict[Any, Schema]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    memoryview: {"type": "string", "contentEncoding": "base64"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    dict: {"type": "object"},
}
# Not of Iterable: a plain function that returns one mostly returns a list.
_YIELDING: Final = (Iterator, Generator)
_YIELDING_ASYNC: Final = (AsyncIterator, AsyncIterable, AsyncGenerator)
_STREAMS: Final = (*_YIELDING, *_YIELDING_ASYNC, Iterable)
_UNION = type(int | None)
_FEW: Final = 32  # items that are looked at one by one


def evaluated(hint: Any, function: FunctionType) -> Any:
    """As typing.get_type_hints does it."""
    if isinstance(hint, str):
        hint = eval(hint, function.__globals__)
    return type(None) if hint is None else hint


def is_simple(hint: Any) -> bool:
    if kind_of_stream(hint) is not None:
        hint = item_of(hint)
        return hint is EMPTY or schema(hint) is not None
    return schema(hint) is not None


def kind_of_stream(hint: Any) -> Any:
    """The class that an ``Iterator[T]`` and its like are made of; None for other hints."""
    origin = getattr(hint, "__origin__", hint)
    return next((kind for kind in _STREAMS if kind is origin), None)


def item_of(hint: Any) -> Any:
    """Of a stream's hint."""
    arguments: Any = getattr(hint, "__args__", ())
    return arguments[0] if arguments else EMPTY


def yields(hint: Any, *, asynchronous: bool) -> bool:
    """Whether a function that is no generator itself returns one, by its hint."""
    return kind_of_stream(hint) in (_YIELDING_ASYNC if asynchronous else _YIELDING)


def schema(hint: Any) -> Schema | None:
    """The JSON Schema of a simple hint: a scalar, list, map, Literal of one type, or any of them or None."""
    typing = sys.modules.get("typing")
    if typing is not None and hint is typing.Any:
        return {}
    if isinstance(hint, type):
        known = _SCHEMAS.get(hint)
        return None if known is None else dict(known)
    origin: Any = getattr(hint, "__origin__", None)
    arguments: Any = getattr(hint, "__args__", ())
    if origin is list and len(arguments) == 1:
        return _container("array", "items", arguments[0])
    if origin is dict and len(arguments) == 2 and arguments[0] is str:
        return _container("object", "additionalProperties", arguments[1])
    if type(hint) is _UNION or (typing is not None and origin is typing.Union):
        return _optional(arguments)
    if typing is not None and origin is typing.Literal:
        return _literal(arguments)
    return None


def fits(hint: Any, value: object) -> bool:
    """Whether a value is just what a hint says, with nothing to convert; False if that is not plain."""
    if hint is EMPTY:
        return True
    kind = type(value)
    if isinstance(hint, type) and hint in _SCHEMAS:
        return kind is hint
    origin: Any = getattr(hint, "__origin__", None)
    arguments: Any = getattr(hint, "__args__", ())
    if type(hint) is _UNION:
        return any(fits(member, value) for member in arguments)
    if origin is list and kind is list:
        return _all_fit(arguments[0], cast("list[object]", value))
    if origin is dict and kind is dict and arguments[0] is str:
        return _all_fit(arguments[1], cast("dict[str, object]", value).values())
    return False


def is_mapping(hint: Any) -> bool:
    """Of a simple hint."""
    if hint is dict or getattr(hint, "__origin__", None) is dict:
        return True
    return type(None) in getattr(hint, "__args__", ()) and any(map(is_mapping, hint.__args__))


def _all_fit(hint: Any, values: Collection[object]) -> bool:
    return len(values) <= _FEW and all(fits(hint, value) for value in values)


def _container(kind: str, key: str, content: Any) -> Schema | None:
    inside = schema(content)
    if inside is None:
        return None
    return {"type": kind, key: inside} if inside else {"type": kind}


def _optional(members: tuple[Any, ...]) -> Schema | None:
    """Of a type or None. Other unions are left to msgspec, which knows what can be told apart."""
    others = [member for member in members if member is not type(None)]
    inside = schema(others[0]) if len(others) == 1 else None
    return None if inside is None else {"anyOf": [inside, {"type": "null"}]}


def _literal(values: tuple[Any, ...]) -> Schema | None:
    kinds = set(map(type, values))
    return {"enum": sorted(values)} if kinds in ({int}, {str}) else None
