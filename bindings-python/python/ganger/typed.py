"""The functions of a typed client, which ``ganger types`` writes: what type checkers know of ``Pool.proxy``.

At run time a proxy's function is a ``ganger.proxy.ProxyFunction``, which does all this for any function.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

from ._generated.options import CallOptions

if TYPE_CHECKING:
    from .future import CallFuture
    from .progress import Progress
    from .streams import CallStream

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class ProxyOptions(CallOptions, total=False):
    """Options of the calls of a proxy's function."""

    inputs: Iterable[object] | AsyncIterable[object]
    """Items of the function's input stream; for one call."""
    on_progress: Callable[[Progress], object]
    """Told how far the function says it is."""
    progress: bool
    """Draws that with tqdm."""


class Function(Generic[P, R_co]):
    """A function that answers with one value."""

    def __init__(self, declared: Callable[Concatenate[Any, P], R_co], /) -> None:
        raise TypeError(f"{declared!r} is declared for type checkers: import it under TYPE_CHECKING")

    def __call__(self, *args: P.args, **named: P.kwargs) -> R_co:
        """Calls it and waits for what it returns."""
        raise NotImplementedError

    def submit(self, *args: P.args, **named: P.kwargs) -> CallFuture[R_co]:
        """Calls it and returns with a future to wait for or to ``await``."""
        raise NotImplementedError

    def options(self, **options: Unpack[ProxyOptions]) -> Function[P, R_co]:
        """The same function, called with these options."""
        raise NotImplementedError


class StreamFunction(Generic[P, R_co]):
    """A function that yields many values."""

    def __init__(self, declared: Callable[Concatenate[Any, P], R_co], /) -> None:
        raise TypeError(f"{declared!r} is declared for type checkers: import it under TYPE_CHECKING")

    def stream(self, *args: P.args, **named: P.kwargs) -> CallStream[R_co]:
        """Calls it and gives what it yields as it comes: ``for`` or ``async for`` it."""
        raise NotImplementedError

    def options(self, **options: Unpack[ProxyOptions]) -> StreamFunction[P, R_co]:
        """The same function, called with these options."""
        raise NotImplementedError
