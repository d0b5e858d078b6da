"""The parameter that is a function's input stream: which it is, what of, and what the function gets."""

from __future__ import annotations

from _collections_abc import AsyncIterable, AsyncIterator, Iterable, Iterator

from . import schemas
from .binding import Binding
from .hints import EMPTY, item_of, kind_of_stream
from .signature import Parameter, Signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final

    from .binding import Arguments
    from .call import Call
    from .hints import Schema
    from .incoming import Incoming
    from .looping import LoopWaiter
    from .waiting import ThreadWaiter

    Write = Callable[[bytes], object]

_KINDS: Final = (Iterator, Iterable)
_ASYNC_KINDS: Final = (AsyncIterator, AsyncIterable)


class GIVEN_LATER:
    """Stands for the default of such a parameter: the stream itself."""


class InputStream:
    """Made once a function."""

    __slots__ = ("_binding", "_index", "_item", "_kind", "_name")

    def __init__(self, parameter: Parameter, index: int, function: str) -> None:
        self._index = index
        self._name = parameter.name
        self._kind = kind_of_stream(parameter.hint)
        self._item = item_of(parameter.hint)
        # An item is to its hint as an input is to a function with one parameter that takes it whole.
        self._binding = Binding(_of_one(self._item), f"{function}_{parameter.name}")

    def schema(self) -> Schema:
        return {} if self._item is EMPTY else schemas.of_type(self._item) or {}

    def incoming(self, call: Call, give_credit: Write, give_back: Write) -> Incoming:
        from .incoming import Incoming

        return Incoming(call, self._read, give_credit, give_back)

    def filled(self, call: Call, arguments: Arguments, waiter: ThreadWaiter) -> Arguments:
        """With the stream in the place of its parameter, unless the input itself had a list for it."""
        from .reading import Items

        positional, named = arguments
        named = dict(named)
        given = named.pop(self._name, GIVEN_LATER)
        if given is GIVEN_LATER:
            given = Items(call, _expected(call), waiter)
        elif self._kind is Iterator:
            given = iter(given)
        return self._placed(given, positional, named)

    def filled_async(self, call: Call, arguments: Arguments, waiter: LoopWaiter) -> Arguments:
        from .reading import AsyncItems, one_by_one

        positional, named = arguments
        named = dict(named)
        given = named.pop(self._name, GIVEN_LATER)
        late = given is GIVEN_LATER
        stream = AsyncItems(call, _expected(call), waiter) if late else one_by_one(given)
        return self._placed(stream, positional, named)

    def _placed(self, stream: Any, positional: Sequence[Any], named: dict[str, Any]) -> Arguments:
        at = self._index
        if len(positional) <= at:
            return list(positional), {**named, self._name: stream}
        return [*positional[:at], stream, *positional[at:]], named

    def _read(self, encoding: int, payload: bytes | memoryview) -> Any:
        return self._binding.arguments(encoding, 0, payload)[0][0]


def of_function(
    shape: Signature, function: str, *, asynchronous: bool
) -> tuple[Signature, InputStream | None]:
    """The stream that a function reads, and its signature with that parameter as one that may be left out."""
    found = [parameter for parameter in shape.parameters if _is_stream(parameter, asynchronous)]
    if not found:
        return shape, None
    if len(found) > 1:
        names = " and ".join(f"'{parameter.name}'" for parameter in found)
        raise TypeError(f"{function} has two input streams, {names}: a call has one")
    stream = found[0]
    item = item_of(stream.hint)
    kind: Any = list if item is EMPTY else list.__class_getitem__(item)
    listed = Parameter(stream.name, kind, GIVEN_LATER, keyword_only=True)
    rest = [listed if parameter is stream else parameter for parameter in shape.parameters]
    return shape.with_stream(tuple(rest), stream.name), InputStream(
        stream, shape.parameters.index(stream), function
    )


def _is_stream(parameter: Parameter, asynchronous: bool) -> bool:
    kind = kind_of_stream(parameter.hint)
    if kind is None or not parameter.required or parameter.positional_only:
        return False
    ours, others = (_ASYNC_KINDS, _KINDS) if asynchronous else (_KINDS, _ASYNC_KINDS)
    if kind in others and kind is not Iterable:  # which may as well be a list
        wanted = "AsyncIterator" if asynchronous else "Iterator"
        raise TypeError(f"the input stream '{parameter.name}' must be annotated as {wanted} in this function")
    return kind in ours


def _of_one(hint: Any) -> Signature:
    return Signature((Parameter("item", hint, EMPTY),), False, False, EMPTY, lambda _hint: True)


def _expected(call: Call) -> Incoming:
    assert call.incoming is not None, "made before its function runs"
    return call.incoming
