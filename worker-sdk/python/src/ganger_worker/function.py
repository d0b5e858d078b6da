"""A function as the worker runs it, and its contract as READY announces it (chapter 8)."""

from __future__ import annotations

from . import schemas, signature
from .actions import ATTRIBUTE, Options
from .binding import Binding
from .hints import kind_of_stream, yields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .binding import Arguments
    from .input_streams import InputStream

    ArgumentsOf = Callable[[int, int, bytes | memoryview], Arguments]

DEFAULT_OPTIONS: Final = Options()


class Style:
    SYNC: Final = "a plain function"
    ASYNC: Final = "a coroutine function"
    GENERATOR: Final = "a generator"
    ASYNC_GENERATOR: Final = "an asynchronous generator"


class Function:
    """``arguments`` makes them of an encoding, a shape and a payload.

    ``is_plain``: it neither yields items nor reads any.
    ``batched``: it takes a list of inputs, those of calls that came together.
    ``view``: bytes that are its only argument come as a memoryview; None: if the host's value was one.
    """

    __slots__ = (
        "arguments",
        "batched",
        "inputs",
        "is_plain",
        "name",
        "needs_loop",
        "style",
        "target",
        "view",
        "yields",
    )

    def __init__(
        self,
        name: str,
        target: Callable[..., Any],
        style: str,
        arguments: ArgumentsOf,
        view: bool | None = False,
        inputs: InputStream | None = None,
        batched: bool = False,
    ) -> None:
        self.name = name
        self.target = target
        self.style = style
        self.yields = style in (Style.GENERATOR, Style.ASYNC_GENERATOR)
        self.inputs = inputs
        self.batched = batched
        self.is_plain = not self.yields and inputs is None
        self.needs_loop = style in (Style.ASYNC, Style.ASYNC_GENERATOR)
        self.arguments = arguments
        self.view = view


def offered(name: str, target: Callable[..., Any]) -> tuple[Function, dict[str, object]]:
    """The function and its contract."""
    shape = signature.read(target)
    style = _by_hint(style_of(target), shape.returns)
    inputs = None
    if any(map(kind_of_stream, (parameter.hint for parameter in shape.parameters))):
        from . import input_streams

        asynchronous = style in (Style.ASYNC, Style.ASYNC_GENERATOR)
        shape, inputs = input_streams.of_function(shape, name, asynchronous=asynchronous)
    batched = (options_of(target) or DEFAULT_OPTIONS).batch is not None
    if batched:
        from . import batching

        shape = batching.of_each(
            shape, name, one_result=style in (Style.SYNC, Style.ASYNC) and inputs is None
        )
    binding = Binding(shape, name.replace(".", "_"))
    function = Function(name, target, style, binding.arguments, binding.view, inputs, batched)
    return function, _contract(function, shape)


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


def _by_hint(style: str, returns: Any) -> str:
    """A plain function that says to return an iterator yields, too."""
    if style is Style.SYNC and yields(returns, asynchronous=True):
        return Style.ASYNC_GENERATOR
    return Style.GENERATOR if style is Style.SYNC and yields(returns, asynchronous=False) else style


def _contract(function: Function, shape: signature.Signature) -> dict[str, object]:
    options = options_of(function.target) or DEFAULT_OPTIONS
    contract: dict[str, object] = {
        "name": function.name,
        "kind": "stream" if function.yields else "value",
        "summary": options.summary or _first_line(function.target),
        "idempotent": options.idempotent,
        "slots": options.slots,
        "weight": options.weight,
        "coefficient": options.coefficient,
        "exclusive": options.exclusive,
        "timeout_ms": options.timeout_ms,
        "batch": None if options.batch is None else dict(zip(("max", "wait_ms"), options.batch, strict=True)),
        "input": schemas.of_input(shape),
        "output": schemas.of_output(shape, function.yields),
        "inputs": None if function.inputs is None else function.inputs.schema(),
    }
    return {key: value for key, value in contract.items() if value is not None}


def _first_line(target: Callable[..., Any]) -> str | None:
    documentation = getattr(target, "__doc__", None)
    if not isinstance(documentation, str):
        return None
    return documentation.expandtabs().strip().split("\n", 1)[0].strip() or None
