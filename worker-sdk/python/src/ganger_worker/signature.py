"""A function's parameters as the input model needs them (DESIGN: the input is one value)."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

EMPTY: Final = inspect.Parameter.empty
_Kind = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    hint: Any
    default: Any
    positional_only: bool
    keyword_only: bool

    @property
    def required(self) -> bool:
        return self.default is EMPTY


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Parameter, ...]
    variable_positional: bool
    variable_named: bool
    returns: Any
    known: bool = True

    @property
    def takes_whole_input(self) -> bool:
        """The only parameter is annotated as a mapping or record: the input goes to it as it is."""
        if self.variable_named or len(self.parameters) != 1:
            return False
        return _is_record(self.parameters[0].hint)

    @property
    def required(self) -> int:
        return sum(parameter.required for parameter in self.parameters)


def read(function: Callable[..., Any]) -> Signature:
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError):  # some callables made in C tell nothing
        return Signature((), True, True, EMPTY, known=False)
    hints = _hints(function)
    named: list[Parameter] = []
    for name, parameter in found.parameters.items():
        if parameter.kind in (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD):
            continue
        named.append(
            Parameter(
                name=name,
                hint=hints.get(name, Any if parameter.annotation is EMPTY else EMPTY),
                default=parameter.default,
                positional_only=parameter.kind is _Kind.POSITIONAL_ONLY,
                keyword_only=parameter.kind is _Kind.KEYWORD_ONLY,
            )
        )
    kinds = {parameter.kind for parameter in found.parameters.values()}
    return Signature(
        parameters=tuple(named),
        variable_positional=_Kind.VAR_POSITIONAL in kinds,
        variable_named=_Kind.VAR_KEYWORD in kinds,
        returns=hints.get("return", EMPTY),
    )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Evaluated annotations; one that cannot be evaluated (imported for type checkers only) is left out."""
    target = inspect.unwrap(function)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        found: dict[str, Any] = {}
        for name, hint in getattr(target, "__annotations__", {}).items():
            try:
                found[name] = (
                    eval(hint, getattr(target, "__globals__", {})) if isinstance(hint, str) else hint
                )
            except Exception:
                continue
        return found


def _is_record(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _is_record(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return any(_is_record(member) for member in typing.get_args(hint))
    kind: Any = origin if origin is not None else hint
    if not isinstance(kind, type):
        return False
    record: type[Any] = kind
    return (
        issubclass(record, Mapping)
        or dataclasses.is_dataclass(record)
        or typing.is_typeddict(record)
        or hasattr(record, "__struct_fields__")
        or hasattr(record, "model_validate")
    )
