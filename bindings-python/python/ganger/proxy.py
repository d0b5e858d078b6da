"""Functions of workers as functions of the app: ``workers.prices.convert(3)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from . import _native

if TYPE_CHECKING:
    from .calling import Calling
    from .future import CallFuture
    from .streams import CallStream

# These go as bytes alone, which copies nothing.
_ALONE = (bytes, bytearray, memoryview, _native.Block)


class Proxy:
    """What ``Pool.proxy`` returns. Its attributes are functions and modules; ``proxy["my-file.convert"]`` is
    one whose name is no name in Python.

    Only calling finds out whether there is such a function. Names that begin with an underscore are left to
    Python and its tools.
    """

    __slots__ = ("_options", "_path", "_pool")

    def __init__(self, pool: Calling, path: str, options: dict[str, Any]) -> None:
        self._pool = pool
        self._path = path
        self._options = options

    def __getattr__(self, name: str) -> ProxyFunction:
        if name.startswith("_"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        return self[name]

    def __getitem__(self, name: str, /) -> ProxyFunction:
        # The old way to iterate gives numbers, whatever the hint says.
        if not isinstance(cast("object", name), str):
            raise TypeError(f"the name of a function is a string, not {type(name).__name__!r}")
        return ProxyFunction(self._pool, f"{self._path}.{name}" if self._path else name, self._options)

    def __dir__(self) -> list[str]:
        """For completion: what is known of the workers."""
        before = f"{self._path}." if self._path else ""
        names = [known["name"] for known in self._pool.functions() if known["name"].startswith(before)]
        return sorted({*super().__dir__(), *(name.removeprefix(before).partition(".")[0] for name in names)})

    def __repr__(self) -> str:
        return f"<workers of {self._pool!r}>"


class ProxyFunction(Proxy):
    """A function, or a module with functions in it.

    Positional and named arguments are the function's, as if it were here. A worker in another language than
    Python has one parameter: it gets the one argument, or a map of the named ones.
    """

    __slots__ = ()

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Calls it and waits for what it returns, as ``Pool.call`` does."""
        return self._pool.call(self._path, _input(args, named), **self._options)

    def submit(self, /, *args: Any, **named: Any) -> CallFuture[Any]:
        """Calls it and returns with a future to wait for or to ``await``, as ``Pool.submit`` does."""
        return self._pool.submit(self._path, _input(args, named), **self._options)

    def stream(self, /, *args: Any, **named: Any) -> CallStream[Any]:
        """Calls it and gives what it yields as it comes, as ``Pool.stream`` does."""
        return self._pool.stream(self._path, _input(args, named), **self._options)

    def options(self, **options: Any) -> ProxyFunction:
        """The same function, called with these options of a call."""
        return ProxyFunction(self._pool, self._path, {**self._options, **options})

    def __repr__(self) -> str:
        return f"<{self._path} of {self._pool!r}>"


def _input(args: tuple[Any, ...], named: dict[str, Any]) -> object:
    """Names alone are a map, which every worker knows; so are single bytes."""
    if named and not args:
        return named
    if len(args) == 1 and not named and isinstance(args[0], _ALONE):
        return cast("object", args[0])
    return _native.Arguments(args, named)
