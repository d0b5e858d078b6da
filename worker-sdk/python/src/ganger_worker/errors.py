"""Error reports (chapter 6). Making one never fails, whatever the exception does when it is looked at."""

from __future__ import annotations

import os
from functools import partial

from . import values
from .protocol import Kind, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Final, TypeVar

    T = TypeVar("T")

MAX_MESSAGE: Final = 64 * 1024
MAX_TRACEBACK: Final = 256 * 1024
MAX_PROPERTY: Final = 64 * 1024
MAX_PROPERTIES: Final = 512 * 1024
MAX_PROPERTY_DEPTH: Final = 32
MAX_CHAIN: Final = 16
_SDK: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MACHINERY: Final = ("<frozen importlib", "<frozen runpy")
_ATTRIBUTES: Final = (
    "errno",
    "strerror",
    "filename",
    "filename2",
    "name",
    "path",
    "lineno",
    "offset",
    "text",
)


def report(error: BaseException, code: str, path: str | None = None) -> dict[str, object]:
    """The body of an ERROR frame for this exception."""
    seen: set[int] = set()
    body = {"code": code, **_describe(error, seen, whole_chain=True)}
    _attach_cause(body, error, seen)
    if path is not None:
        body["path"] = path
    return body


def refusal(code: str, message: str, path: str | None = None, kind: str = "") -> dict[str, object]:
    """The body of an ERROR frame that no exception of the user's stands behind."""
    body: dict[str, object] = {
        "code": code,
        "type": kind or code,
        "message": _cut(_clean(message), MAX_MESSAGE),
        "traceback": None,
        "language": "python",
    }
    if path is not None:
        body["path"] = _clean(path)
    return body


def error_frame(seq: int, body: dict[str, object], payload: bytes = b"", flags: int = 0) -> bytes:
    return frame(Kind.ERROR, seq, values.encode_body(body), payload, flags)


def type_name(error: BaseException) -> str:
    kind = type(error)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def _attach_cause(body: dict[str, object], error: BaseException, seen: set[int]) -> None:
    """The chain below the error: the explicit cause, else the context unless it was suppressed."""
    below = body
    for _ in range(MAX_CHAIN):
        following = _safely(partial(_next_in_chain, error), None)
        if following is None or id(following) in seen:
            return
        described = _describe(following, seen, whole_chain=False)
        below["cause"] = described
        below, error = described, following


def _next_in_chain(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _describe(error: BaseException, seen: set[int], *, whole_chain: bool) -> dict[str, object]:
    seen.add(id(error))
    body: dict[str, object] = {
        "type": _safely(lambda: _clean(type_name(error)), "Exception"),
        "message": _safely(lambda: _cut(_clean(str(error)), MAX_MESSAGE), "<the message cannot be shown>"),
        "traceback": _safely(lambda: _traceback(error, whole_chain), ""),
        "language": "python",
    }
    nothing: tuple[dict[str, object], list[str]] = ({}, [])
    properties, dropped = _safely(lambda: _properties(error), nothing)
    if properties:
        body["properties"] = properties
    if dropped:
        body["dropped"] = dropped
    return body


def _traceback(error: BaseException, whole_chain: bool) -> str:
    import traceback  # needs much, and a refusal needs none of it

    kept = _own_frames(error.__traceback__)
    lines = traceback.format_exception(type(error), error, kept, chain=whole_chain)
    return _cut(_clean("".join(lines)), MAX_TRACEBACK)


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames at the top that are ours or the import machinery's: the user's code begins below."""
    kept = trace
    while kept is not None and _is_machinery(kept.tb_frame.f_code.co_filename):
        kept = kept.tb_next
    return kept


def _is_machinery(filename: str) -> bool:
    return (
        filename.startswith((_SDK, *_MACHINERY))
        or filename.endswith(f"importlib{os.sep}__init__.py")
        or filename.endswith((f"asyncio{os.sep}runners.py", f"asyncio{os.sep}base_events.py"))
    )


def _properties(error: BaseException) -> tuple[dict[str, object], list[str]]:
    found: dict[str, object] = {}
    if error.args and not (len(error.args) == 1 and isinstance(error.args[0], str)):
        found["args"] = list(error.args)
    for name in _ATTRIBUTES:
        value = _safely(partial(getattr, error, name, None), None)
        if value is not None:
            found[name] = value
    nothing: dict[str, object] = {}
    own = _safely(lambda: dict(vars(error)), nothing)
    found.update({str(name): value for name, value in own.items() if not str(name).startswith("__")})
    return _encodable(found)


def _encodable(found: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    kept: dict[str, object] = {}
    dropped: list[str] = []
    size = 0
    for name, value in found.items():
        clean = _clean(name)
        data = _safely(partial(values.encode, value), b"")
        size += len(data)
        # Decoded again: what goes into the body must be plain, whatever the object was.
        fits = 0 < len(data) <= MAX_PROPERTY and size <= MAX_PROPERTIES
        plain = values.decode_body(data) if fits else dropped
        if plain is dropped or values.depth(plain) > MAX_PROPERTY_DEPTH:
            dropped.append(clean)
        else:
            kept[clean] = plain
    return kept, dropped


def _safely(make: Callable[[], T], fallback: T) -> T:
    """User code runs when an exception is printed or looked at; whatever it raises, the report goes on."""
    try:
        return make()
    except BaseException:
        return fallback


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _cut(text: str, limit: int) -> str:
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    mark = " … (cut)"
    return data[: limit - len(mark.encode())].decode("utf-8", "ignore") + mark
