"""What ``signature`` and ``function`` do not see themselves, by inspect and typing, slow to import."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from .function import Style
from .signature import EMPTY, Parameter, Signature

_Kind = inspect.Parameter


def read(function: Callable[..., Any]) -> Signature:
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError):  # some callables made in C tell nothing
        return Signature((), True, True, EMPTY, is_record, known=False)
    hints = _hints(function)
    kinds = {parameter.kind for parameter in found.parameters.values()}
    return Signature(
        parameters=tuple(
            _parameter(parameter, hints)
            for parameter in found.parameters.values()
            if parameter.kind not in (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD)
        ),
        variable_positional=_Kind.VAR_POSITIONAL in kinds,
        variable_named=_Kind.VAR_KEYWORD in kinds,
        returns=hints.get("return", EMPTY),
        is_record=is_record,
    )


def style_of(target: Callable[..., Any]) -> str:
    candidates = (target, getattr(target, "__call__", None))  # noqa: B004 - the method, not whether it is one
    for candidate in candidates:
        if inspect.isasyncgenfunction(candidate):
            return Style.ASYNC_GENERATOR
        if inspect.iscoroutinefunction(candidate):
            return Style.ASYNC
        if inspect.isgeneratorfunction(candidate):
            return Style.GENERATOR
    return Style.SYNC


def is_record(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return is_record(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return any(is_record(member) for member in typing.get_args(hint))
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


def _parameter(parameter: inspect.Parameter, hints: dict[str, Any]) -> Parameter:
    return Parameter(
        name=parameter.name,
        hint=hints.get(parameter.name, EMPTY),
        default=EMPTY if parameter.default is _Kind.empty else parameter.default,
        positional_only=parameter.kind is _Kind.POSITIONAL_ONLY,
        keyword_only=parameter.kind is _Kind.KEYWORD_ONLY,
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
