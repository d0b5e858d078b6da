"""A function as the worker runs it, and its contract as READY announces it (chapter 8)."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, Final

from . import schemas, signature
from .actions import ATTRIBUTE, Options
from .binding import Arguments, Binding

DEFAULT_OPTIONS: Final = Options()
ArgumentsOf = Callable[[int, int, bytes], Arguments]


class Style(enum.Enum):
    SYNC = "a plain function"
    ASYNC = "a coroutine function"
    GENERATOR = "a generator"
    ASYNC_GENERATOR = "an asynchronous generator"


class Function:
    __slots__ = ("arguments", "contract", "is_plain", "name", "style", "target")

    def __init__(self, name: str, target: Callable[..., Any], arguments: ArgumentsOf | None = None) -> None:
        shape = signature.read(target)
        self.name = name
        self.target = target
        self.style = style_of(target)
        self.is_plain = self.style is Style.SYNC
        self.arguments = arguments or Binding(shape, name.replace(".", "_")).arguments
        self.contract = _contract(name, target, self.style, shape)

    @property
    def needs_loop(self) -> bool:
        return self.style in (Style.ASYNC, Style.ASYNC_GENERATOR)


def style_of(target: Callable[..., Any]) -> Style:
    candidates = (target, getattr(target, "__call__", None))  # noqa: B004 - the method, not whether it is one
    for candidate in candidates:
        if inspect.isasyncgenfunction(candidate):
            return Style.ASYNC_GENERATOR
        if inspect.iscoroutinefunction(candidate):
            return Style.ASYNC
        if inspect.isgeneratorfunction(candidate):
            return Style.GENERATOR
    return Style.SYNC


def options_of(target: object) -> Options | None:
    found = getattr(target, ATTRIBUTE, None)
    return found if isinstance(found, Options) else None


def _contract(
    name: str, target: Callable[..., Any], style: Style, shape: signature.Signature
) -> dict[str, object]:
    options = options_of(target) or DEFAULT_OPTIONS
    streams = style in (Style.GENERATOR, Style.ASYNC_GENERATOR)
    contract: dict[str, object] = {
        "name": name,
        "kind": "stream" if streams else "value",
        "summary": options.summary or _first_line(target),
        "idempotent": options.idempotent,
        "slots": options.slots,
        "weight": options.weight,
        "coefficient": options.coefficient,
        "exclusive": options.exclusive,
        "timeout_ms": options.timeout_ms,
        "input": schemas.of_input(shape),
        "output": schemas.of_output(shape, streams),
    }
    return {key: value for key, value in contract.items() if value is not None}


def _first_line(target: Callable[..., Any]) -> str | None:
    documentation = inspect.getdoc(target) if getattr(target, "__doc__", None) else None
    return documentation.strip().split("\n", 1)[0].strip() or None if documentation else None
