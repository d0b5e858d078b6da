"""How far a call is, told to a callback or drawn as a bar."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from importlib import import_module
from typing import Any, NamedTuple

from . import _native

logger = logging.getLogger("ganger")


class Progress(NamedTuple):
    """What a function says with ``context.progress(done, total, note)``, in a unit of its own."""

    done: float
    total: float | None
    note: str | None


class Watcher:
    """Tells of one call: the latest, one at a time, and nothing more once the call has ended."""

    def __init__(self, tell: Callable[[Progress], object], close: Callable[[], object] | None = None) -> None:
        self._teller = _Teller(tell, close)
        # It holds the teller, and is not held by it: nobody sees a cycle through what is not Python's.
        self.mailbox = _native.Progress(self._teller)

    def end(self) -> None:
        self.mailbox.flush()
        self._teller.end()

    def forget(self) -> None:
        self._teller.end()


class _Teller:
    def __init__(self, tell: Callable[[Progress], object], close: Callable[[], object] | None) -> None:
        self._tell = tell
        self._close = close
        self._open = True
        # The thread that takes the result tells what is left to tell, the library's own all before.
        self._lock = threading.RLock()

    def __call__(self, done: float, total: float | None, note: str | None) -> None:
        with self._lock:
            if self._open:
                _safely(self._tell, Progress(done, total, note))

    def end(self) -> None:
        with self._lock:
            was_open, self._open = self._open, False
        if was_open and self._close is not None:
            _safely(self._close)


def watcher(
    function: str, on_progress: Callable[[Progress], object] | None, progress: bool
) -> Watcher | None:
    """By what the caller asks for; None if that is nothing."""
    if progress:
        bar = _Bar(function, on_progress)
        return Watcher(bar.show, bar.close)
    return None if on_progress is None else Watcher(on_progress)


def drawn(results: Iterator[Any], function: str, values: Iterable[object]) -> Iterator[Any]:
    """The results, with a bar that moves as they are taken."""
    total = len(values) if isinstance(values, Sized) else None
    return iter(bar_class()(results, desc=function, total=total))


class _Bar:
    """A bar of tqdm's, which draws it where it can best be seen: in a terminal or in a notebook."""

    def __init__(self, function: str, also: Callable[[Progress], object] | None) -> None:
        self._bar: Any = bar_class()(desc=function, total=None)
        self._also = also

    def show(self, progress: Progress) -> None:
        bar = self._bar
        bar.total = _plain(progress.total)
        if progress.note is not None:
            bar.set_postfix_str(progress.note, refresh=False)
        bar.update((_plain(progress.done) or 0) - bar.n)  # which draws no more often than can be seen
        if self._also is not None:
            self._also(progress)

    def close(self) -> None:
        self._bar.close()


def bar_class() -> Any:
    try:
        return import_module("tqdm.auto").tqdm
    except ImportError:
        raise ImportError(
            "progress=True draws with tqdm, which is not installed: pip install tqdm, or give on_progress"
        ) from None


def _plain(number: float | None) -> float | int | None:
    """Whole numbers as such: 3 of 10, not 3.0 of 10.0."""
    return int(number) if number is not None and number == int(number) else number


def _safely(act: Callable[..., object], *arguments: object) -> None:
    try:
        act(*arguments)
    except Exception:
        logger.warning("telling how far a call is failed", exc_info=True)
