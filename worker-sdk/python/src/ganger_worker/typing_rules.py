"""What type hints demand of arguments, checked by msgspec where it knows the type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, cast

from .signature import EMPTY, Parameter, Signature
from .values import Refused

_AT: Final = re.compile(r"^(?P<reason>.*) - at `\$(?P<path>.*)`$", re.DOTALL)
_FIELD: Final = re.compile(r"(?:missing required|contains unknown) field `(?P<name>[^`]+)`")


def _import_msgspec() -> Any:
    try:
        import msgspec
    except ImportError:
        return None
    return msgspec


msgspec: Final = _import_msgspec()


class Rules:
    """The hints of one function. ``decode_fast`` decodes, checks and orders a map in one go, in C."""

    def __init__(self, signature: Signature, name: str) -> None:
        self._hints = {parameter.name: _hint(parameter) for parameter in signature.parameters}
        self._pydantic = {name: hint for name, hint in self._hints.items() if hasattr(hint, "model_validate")}
        self._typed = {name: hint for name, hint in self._hints.items() if msgspec and _supported(hint)}
        self.any = bool(self._typed) or bool(self._pydantic)
        self.decode_fast = self._fast(signature, name) if msgspec and not self._pydantic else None

    def convert(self, name: str, value: Any, path: str) -> Any:
        if name in self._typed:
            try:
                return msgspec.convert(value, self._typed[name])
            except msgspec.ValidationError as error:
                raise refused(error, path) from None
        if name in self._pydantic:
            try:
                return self._pydantic[name].model_validate(value)
            except Exception as error:
                raise Refused(path, str(error)) from None
        return value

    def _fast(self, signature: Signature, name: str) -> Callable[[bytes], tuple[Any, ...]] | None:
        """One struct of all parameters; only for functions whose arguments can all go by position."""
        if not _goes_by_position(signature):
            return None
        fields = [self._field(parameter) for parameter in signature.parameters]
        try:
            shape = msgspec.defstruct(name, fields, forbid_unknown_fields=True)
            decode = msgspec.msgpack.Decoder(shape, ext_hook=_no_extension).decode
        except Exception:
            return None
        untyped = [index for index, field in enumerate(fields) if _has_any(field[1])]
        from .msgspec_codec import lax_keys

        astuple = cast("Callable[[Any], tuple[Any, ...]]", msgspec.structs.astuple)
        if not untyped:
            return lambda payload: astuple(decode(payload))

        def decode_and_look(payload: bytes) -> tuple[Any, ...]:
            arguments = astuple(decode(payload))
            for index in untyped:
                if lax_keys(arguments[index]):
                    raise Refused("$", "keys that are not strings")
            return arguments

        return decode_and_look

    def _field(self, parameter: Parameter) -> Any:
        hint, default = self._typed.get(parameter.name, Any), parameter.default
        if default is EMPTY:
            return (parameter.name, hint)
        return (parameter.name, hint, msgspec.field(default_factory=lambda: default))


def _goes_by_position(signature: Signature) -> bool:
    if not signature.known or signature.variable_named or signature.variable_positional:
        return False
    return not (signature.takes_whole_input or any(it.keyword_only for it in signature.parameters))


def refused(error: Exception, base: str) -> Refused:
    """msgspec's words with its path behind ours."""
    text, path = str(error), ""
    match = _AT.match(text)
    if match is not None:
        text, path = match["reason"], match["path"]
    field = _FIELD.search(text)
    if field is not None:
        path += f".{field['name']}"
    return Refused(base + path, text)


def _hint(parameter: Parameter) -> Any:
    return Any if parameter.hint is EMPTY else parameter.hint


def _supported(hint: Any) -> bool:
    """Whether msgspec knows how to check this type; values of other types are taken as they come."""
    if hint is Any or hint is object:
        return False
    try:
        return not _contains(msgspec.inspect.type_info(hint), msgspec.inspect.CustomType, set())
    except Exception:
        return False


def _has_any(hint: Any) -> bool:
    try:
        return _contains(msgspec.inspect.type_info(hint), msgspec.inspect.AnyType, set())
    except Exception:
        return True


def _contains(node: Any, kind: type, seen: set[int]) -> bool:
    """Looks for a kind of node in msgspec's description of a type, which may refer to itself."""
    if isinstance(node, kind):
        return True
    if id(node) in seen:
        return False
    seen.add(id(node))
    if isinstance(node, (tuple, list)):
        return any(_contains(item, kind, seen) for item in cast("list[Any]", node))
    if isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)):
        return any(_contains(getattr(node, name), kind, seen) for name in node.__struct_fields__)
    return False


def _no_extension(code: int, _data: Any) -> Any:
    raise Refused("$", f"MessagePack extension {code}")
