"""A function as the worker runs it, and its contract as READY announces it (chapter 8)."""

from __future__ import annotations

from . import schemas, signature
from .actions import ATTRIBUTE, Options
from .binding import Binding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .binding import Arguments

    ArgumentsOf = Callable[[int, int, bytes | memoryview], Arguments]

DEFAULT_OPTIONS: Final = Options()


class Style:
    SYNC: Final = "a plain function"
    ASYNC: Final = "a coroutine function"
    GENERATOR: Final = "a generator"
    ASYNC_GENERATOR: Final = "an asynchronous generator"


class Function:
    """``arguments`` makes them of an encoding, a shape and a payload.

    ``view``: bytes that are its only argument come as a memoryview; None: if the host's value was one.
    """

    __slots__ = ("arguments", "is_plain", "name", "needs_loop", "style", "target", "view")

    def __init__(
        self,
        name: str,
        target: Callable[..., Any],
        style: str,
        arguments: ArgumentsOf,
        view: bool | None = False,
    ) -> None:
        self.name = name
        self.target = target
        self.style = style
        self.is_plain = style is Style.SYNC
        self.needs_loop = style in (Style.ASYNC, Style.ASYNC_GENERATOR)
        self.arguments = arguments
        self.view = view


def offered(name: str, target: Callable[..., Any]) -> tuple[Function, dict[str, object]]:
    """The function and its contract."""
    shape = signature.read(target)
    style = style_of(target)
    binding = Binding(shape, name.replace(".", "_"))
    function = Function(name, target, style, binding.arguments, binding.view)
    return function, _contract(name, target, style, shape)


def style_of(target: Callable[..., Any]) -> str:
    if signature.is_bare(target):
        flags = target.__code__.co_flags
        return next((style for flag, style in _STYLES if flags & flag), Style.SYNC)
    from . import reflection

    return reflection.style_of(target)


# By the flags of a code object.
_STYLES: Final = ((0x200, Style.ASYNC_GENERATOR), (0x80, Style.ASYNC), (0x20, Style.GENERATOR))


def options_of(target: object) -> Options | None:
    found = getattr(target, ATTRIBUTE, None)
    return found if isinstance(found, Options) else None


def _contract(
    name: str, target: Callable[..., Any], style: str, shape: signature.Signature
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
    documentation = getattr(target, "__doc__", None)
    if not isinstance(documentation, str):
        return None
    return documentation.expandtabs().strip().split("\n", 1)[0].strip() or None
