"""A function's parameters as the input model needs them (DESIGN: the input is one value).

A bare function with simple hints is read from its code object here; all else by ``reflection``, which imports
inspect and typing.
"""

from __future__ import annotations

from . import hints
from .actions import ATTRIBUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType
    from typing import Any, Final, TypeGuard

EMPTY: Final = hints.EMPTY
_VARIABLE_POSITIONAL, _VARIABLE_NAMED = 0x04, 0x08  # of a code object's flags


class Parameter:
    __slots__ = ("default", "hint", "keyword_only", "name", "positional_only")

    def __init__(
        self, name: str, hint: Any, default: Any, positional_only: bool = False, keyword_only: bool = False
    ) -> None:
        self.name = name
        self.hint = hint  # EMPTY where there is none, or none that can be evaluated
        self.default = default
        self.positional_only = positional_only
        self.keyword_only = keyword_only

    @property
    def required(self) -> bool:
        return self.default is EMPTY


class Signature:
    """``takes_whole_input``: the only parameter is annotated as a mapping or record and gets the input as is.
    ``stream``: the parameter that gets the input stream, which stands beside the input.

    Unless ``known``, nothing can be told of the parameters, as of some callables made in C.
    """

    __slots__ = (
        "known",
        "parameters",
        "required",
        "returns",
        "stream",
        "takes_whole_input",
        "variable_named",
        "variable_positional",
    )

    def __init__(
        self,
        parameters: tuple[Parameter, ...],
        variable_positional: bool,
        variable_named: bool,
        returns: Any,
        is_record: Callable[[Any], bool],
        known: bool = True,
        stream: str | None = None,
    ) -> None:
        self.parameters = parameters
        self.variable_positional = variable_positional
        self.variable_named = variable_named
        self.returns = returns
        self.known = known
        self.stream = stream
        self.required = sum(parameter.required for parameter in parameters)
        values = [parameter for parameter in parameters if parameter.name != stream]
        alone = len(values) == 1 and not variable_named
        self.takes_whole_input = alone and is_record(values[0].hint)

    def with_stream(self, parameters: tuple[Parameter, ...], stream: str) -> Signature:
        """The same function, one of whose parameters gets its input stream."""
        return Signature(
            parameters,
            self.variable_positional,
            self.variable_named,
            self.returns,
            is_record,
            self.known,
            stream,
        )


def is_record(hint: Any) -> bool:
    if hints.is_simple(hint):
        return hints.is_mapping(hint)
    from . import reflection

    return reflection.is_record(hint)


def read(function: Callable[..., Any]) -> Signature:
    found = _read_bare(function) if is_bare(function) else None
    if found is not None:
        return found
    from . import reflection

    return reflection.read(function)


def is_bare(function: object) -> TypeGuard[FunctionType]:
    """A function as ``def`` makes it: nothing has wrapped or marked it but ``@action``."""
    return type(function) is type(is_bare) and function.__dict__.keys() <= {ATTRIBUTE}


def _read_bare(function: FunctionType) -> Signature | None:
    """None: a hint is not simple."""
    try:
        annotated = {name: hints.evaluated(hint, function) for name, hint in function.__annotations__.items()}
        if not all(map(hints.is_simple, annotated.values())):
            return None
    except Exception:  # a name that is there for type checkers only
        return None
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(function.__kwdefaults__ or {})
    given = function.__defaults__ or ()
    defaults.update(zip(positional[len(positional) - len(given) :], given, strict=True))
    parameters = tuple(
        Parameter(
            name,
            annotated.get(name, EMPTY),
            defaults.get(name, EMPTY),
            positional_only=index < code.co_posonlyargcount,
            keyword_only=index >= code.co_argcount,
        )
        for index, name in enumerate(names)
    )
    return Signature(
        parameters,
        variable_positional=bool(code.co_flags & _VARIABLE_POSITIONAL),
        variable_named=bool(code.co_flags & _VARIABLE_NAMED),
        returns=annotated.get("return", EMPTY),
        is_record=hints.is_mapping,
    )
