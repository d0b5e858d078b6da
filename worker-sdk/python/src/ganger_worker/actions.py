"""``@action``: what makes a function callable from the host, and what its author says about it."""

from __future__ import annotations

from .typed import overload

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable
    from typing import Any, Final, Literal, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])
    Exclusive = Literal["worker", "node"]

ATTRIBUTE: Final = "__ganger_action__"
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class Options:
    __slots__ = (
        "batch",
        "coefficient",
        "exclusive",
        "idempotent",
        "name",
        "slots",
        "summary",
        "timeout_ms",
        "weight",
    )

    def __init__(
        self,
        name: str | None = None,
        summary: str | None = None,
        idempotent: bool = False,
        slots: int = 1,
        weight: int = 1,
        coefficient: float = 1.0,
        exclusive: Exclusive | None = None,
        timeout_ms: int | None = None,
        batch: tuple[int, int] | None = None,
    ) -> None:
        self.name = name
        self.summary = summary
        self.idempotent = idempotent
        self.slots = slots
        self.weight = weight
        self.coefficient = coefficient
        self.exclusive = exclusive
        self.timeout_ms = timeout_ms
        # The most calls, and the milliseconds that they wait for others.
        self.batch = batch


@overload
def action(function: F, /) -> F: ...


@overload
def action(
    *,
    name: str | None = None,
    summary: str | None = None,
    idempotent: bool = False,
    slots: int = 1,
    weight: int = 1,
    coefficient: float = 1.0,
    exclusive: Exclusive | None = None,
    timeout: float | str | dt.timedelta | None = None,
    batch: tuple[int, float | str | dt.timedelta] | None = None,
) -> Callable[[F], F]: ...


def action(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    summary: str | None = None,
    idempotent: bool = False,
    slots: int = 1,
    weight: int = 1,
    coefficient: float = 1.0,
    exclusive: Exclusive | None = None,
    timeout: float | str | dt.timedelta | None = None,
    batch: tuple[int, float | str | dt.timedelta] | None = None,
) -> Any:
    """Offers a function, sync or async, to the host. The function itself stays as it is.

    ``timeout`` is in seconds, a timedelta, or a text such as ``"500ms"``; the host applies it where a call
    has none of its own. ``name`` replaces the function's own name; one with a dot its module's name too.

    ``batch``, the most calls and how long one waits for others, has calls handed over together: the function
    takes a list of inputs and returns a list of as many results, in which an exception is that call's error.
    """
    options = Options(
        name=name,
        summary=summary,
        idempotent=idempotent,
        slots=_whole("slots", slots, 1, 2**32 - 1),
        weight=_whole("weight", weight, 1, 100),
        coefficient=float(coefficient),
        exclusive=_one_of("exclusive", exclusive, (None, "worker", "node")),
        timeout_ms=None if timeout is None else milliseconds(timeout),
        batch=None if batch is None else _batch(*batch),
    )

    def mark(target: F) -> F:
        if not callable(target):
            raise TypeError(f"@action is for functions, not for a {type(target).__name__}")
        setattr(target, ATTRIBUTE, options)
        return target

    return mark if function is None else mark(function)


def milliseconds(duration: float | str | dt.timedelta, name: str = "timeout") -> int:
    """Seconds, a timedelta, or a number with a unit (ms s m h d) as whole milliseconds."""
    if isinstance(duration, str):
        return _with_unit(duration, name)
    seconds = duration if isinstance(duration, (int, float)) else duration.total_seconds()
    if not seconds > 0:
        raise ValueError(f"{name} must be above 0, not {duration!r}")
    return round(seconds * 1000)


def _with_unit(duration: str, name: str) -> int:
    text = duration.strip()
    number = text.rstrip("adhimns")
    unit = text[len(number) :]
    whole, point, rest = number.rstrip().partition(".")
    if unit not in _UNITS or not whole.isdecimal() or (point and not rest.isdecimal()):
        raise ValueError(f"{name} {duration!r} is not a number with a unit such as '500ms' or '2m'")
    return round(float(whole + point + rest) * _UNITS[unit])


def _batch(most: int, wait: float | str | dt.timedelta) -> tuple[int, int]:
    at_once = isinstance(wait, (int, float)) and wait == 0
    return _whole("batch", most, 1, 2**32 - 1), 0 if at_once else milliseconds(wait, "batch")


def _whole(name: str, value: int, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
    return value
