"""What is read of a function without inspect, typing and msgspec is what these would say."""

from __future__ import annotations

import asyncio
import functools
import inspect
import types
from collections.abc import AsyncIterator, Iterator
from typing import Any, Dict, List, Literal, Optional, Union  # noqa: UP035

import msgspec
import pytest

from ganger_worker import action, actions, function, hints, reflection, signature

SIMPLE = [
    *(int, float, str, bool, bytes, type(None), list, dict, Any),
    *(list[int], list[Any], list[list[str]], dict[str, int], dict[str, Any], dict[str, list[bytes]]),
    *(List[int], Dict[str, float]),  # noqa: UP006
    *(int | None, None | str, list[int] | None, Optional[dict[str, int]], Union[bool, None]),  # noqa: UP007, UP045
    *(Literal["b", "a"], Literal[3], Literal[2, 1, 2], Optional[Literal["x"]]),  # noqa: UP045
    *(list[int | None], dict[str, Literal["x", "y"]]),
]
OTHERS = [
    *(object, set, tuple, tuple[int, ...], dict[int, str], int | str, int | str | None, Literal["a", 1]),
    *(Literal[True], Literal["a", None], "int", list["int"], list[object], bytearray, Iterator[int]),
]


@pytest.mark.parametrize("hint", SIMPLE, ids=str)
def test_a_simple_hint_is_described_as_msgspec_does(hint: Any) -> None:
    assert hints.schema(hint) == msgspec.json.schema(hint)
    assert hints.is_mapping(hint) == reflection.is_record(hint)


@pytest.mark.parametrize("hint", OTHERS, ids=str)
def test_other_hints_are_left_to_msgspec(hint: Any) -> None:
    assert hints.schema(hint) is None


def nothing(): ...  # type: ignore[no-untyped-def]
def bare(a, b=1, *c, d, e=None, **f): ...  # type: ignore[no-untyped-def]
def positional(a: int, b: str = "b", /, c: float = 1, *, d: bool) -> None: ...
def whole(input: dict[str, Any]) -> str: ...
def whole_or_none(input: Optional[dict]) -> None: ...  # type: ignore[type-arg]  # noqa: UP045
def names(**names: int) -> list[int]: ...
def items(*items: str) -> dict[str, int]: ...
def choice(amount: float, to: Literal["EUR", "USD"] = "EUR") -> float: ...
def unresolved(a: NotThere, b: int) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def complex_default(a: object = object(), b: tuple[int, ...] = ()) -> None: ...
async def coroutine(x: int) -> int: ...
def generator(n: int) -> Iterator[int]:
    yield n


async def async_generator(n: int) -> AsyncIterator[int]:
    yield n


@functools.wraps(positional)
def wrapping(*args: Any, **kwargs: Any) -> Any: ...


@functools.cache
def cached(a: int) -> int: ...


@types.coroutine
def old_coroutine(x: int) -> Any:
    yield x


class Callable:
    """Can be called."""

    def __call__(self, a: int, b: str = "b") -> int: ...

    def method(self, a: int) -> int: ...


FUNCTIONS = [
    *(nothing, bare, positional, whole, whole_or_none, names, items, choice, unresolved, complex_default),
    *(coroutine, generator, async_generator, wrapping, cached, old_coroutine, Callable(), Callable().method),
    *(
        lambda x, y=2: (x, y),
        functools.partial(positional, 1),
        functools.partial(coroutine, 1),
        len,
        print,
        dict,
    ),
]


@pytest.mark.parametrize("target", FUNCTIONS, ids=str)
def test_signatures(target: Any) -> None:
    found, told = signature.read(target), reflection.read(target)
    assert fields(found) == fields(told)
    assert [fields(parameter) for parameter in found.parameters] == [
        fields(parameter) for parameter in told.parameters
    ]
    assert function.style_of(target) == reflection.style_of(target)


def fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__ if name != "parameters"}


@pytest.mark.parametrize("target", [positional, choice, coroutine, generator], ids=str)
def test_the_action_mark_hinders_no_bare_reading(target: Any) -> None:
    copy = types.FunctionType(target.__code__, target.__globals__, target.__name__)
    assert signature.is_bare(action(copy))
    assert not signature.is_bare(wrapping)


def test_a_marked_coroutine_function_is_one() -> None:
    if not hasattr(inspect, "markcoroutinefunction"):
        pytest.skip("since 3.12")

    def returns_one() -> Any:
        return asyncio.sleep(0)

    marked = inspect.markcoroutinefunction(returns_one)
    assert function.style_of(marked) == function.Style.ASYNC


DOCUMENTED = ["One line.", "\n    Below.\n    More.", "  \tIndented\there.  \n\n", "", "\n \n", None]


@pytest.mark.parametrize("text", DOCUMENTED)
def test_the_summary_is_the_first_line_of_the_documentation(text: str | None) -> None:
    def documented() -> None: ...

    documented.__doc__ = text
    cleaned = inspect.getdoc(documented) or ""
    summary = function.offered("f", documented)[1].get("summary")
    assert summary == (cleaned.strip().split("\n", 1)[0].strip() or None)


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ("500ms", 500),
        (" 1.5 s ", 1500),
        ("2m", 120_000),
        ("2min", 120_000),
        ("1h", 3_600_000),
        ("0.5d", 43_200_000),
    ],
)
def test_durations(given: str, milliseconds: int) -> None:
    assert actions.milliseconds(given) == milliseconds


@pytest.mark.parametrize(
    "given", ["", "5", "ms", "1.s", ".5s", "-1s", "1e3s", "1 000ms", "5x", "5 s s", 0, -1.5]
)
def test_what_is_no_duration(given: Any) -> None:
    with pytest.raises(ValueError, match="timeout"):
        actions.milliseconds(given)
