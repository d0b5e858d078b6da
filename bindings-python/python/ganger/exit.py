"""The end of the interpreter, and its copies by fork: no pool delays the one or survives in the other."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from . import _native
from ._generated.errors import PoolClosed
from .awaiting import PoolFuture

if TYPE_CHECKING:
    from ._generated.options import Limit

_ThreadHook = Callable[[threading.ExceptHookArgs], object]

# How long the end waits for listeners to hear of the last events.
_LAST_EVENTS_S = 1.0

_open: WeakSet[Any] = WeakSet()
# Pools that finish their calls, whether somebody holds them or not.
_finishing: dict[PoolFuture[None], _Entry] = {}


def remember(pool: _native.Pool, holder: object) -> None:
    """Has the pool ended with the interpreter, unless it was before."""
    _open.add(_Entry(pool, holder, None, to_its_end=False))


def remember_to_its_end(pool: _native.Pool, holder: object, patience: Limit | None, kept: object) -> None:
    """The same for a pool whose calls are finished first, as long as ``patience`` says, and whose workers
    print what they have to. ``kept`` is what they need to start."""
    _open.add(_Entry(pool, holder, patience, to_its_end=True, kept=kept))


def finish(holder: Any) -> None:
    """Closes a pool without limit. Until then it is not forgotten, though its holder may be."""
    entry: _Entry = holder._at_exit
    future = PoolFuture[None]()
    _finishing[future] = entry
    future.add_done_callback(_finished)
    entry.pool.close_soon(future, "never")


def _finished(future: Any) -> None:
    _finishing.pop(future, None)


class _Entry:
    """Lives as long as the pool's holder, which it is hung on."""

    def __init__(
        self,
        pool: _native.Pool,
        holder: Any,
        patience: Limit | None,
        *,
        to_its_end: bool,
        kept: object = None,
    ) -> None:
        self.pool = pool
        self.kept = kept
        self.patience = patience
        self.to_its_end = to_its_end
        holder._at_exit = self


def _end_pools() -> None:
    """Idle pools go at once.

    Those with calls, closing or not, have until their close timeout, all at the same time. Ctrl-C, if nobody
    caught it, ends them at once.
    """
    at_once = _was_interrupted()
    if at_once:
        threading.excepthook = _without_closed_pools(threading.excepthook)
    entries = [entry for entry in {*_open, *_finishing.values()} if not entry.pool.forked]
    waiting: list[PoolFuture[None]] = []
    try:
        for entry in entries:
            if not at_once and (entry.to_its_end or entry.pool.calls()):
                future = PoolFuture[None]()
                entry.pool.close_soon(future, entry.patience)
                waiting.append(future)
            else:
                entry.pool.terminate_soon()
        for future in waiting:
            future.result()
        for entry in entries:
            if entry.to_its_end:
                entry.pool.flush_events(_LAST_EVENTS_S)
    except BaseException:
        for entry in entries:
            entry.pool.terminate_soon()
        raise


def _was_interrupted() -> bool:
    """Whether nobody caught a Ctrl-C. In a session its last error may be long ago."""
    last = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return isinstance(last, KeyboardInterrupt) and not hasattr(sys, "ps1")


def _without_closed_pools(hook: _ThreadHook) -> _ThreadHook:
    """Threads whose calls end with the app have nothing to tell: what ended it has its traceback already."""

    def tell(ended: threading.ExceptHookArgs) -> None:
        if not issubclass(ended.exc_type, PoolClosed):
            hook(ended)

    return tell


def _after_fork_in_child() -> None:
    _native.forked()
    _open.clear()
    _finishing.clear()


# Threads are joined before `atexit` has its turn, and one may wait for a call: the pools must go before.
_register = getattr(threading, "_register_atexit", atexit.register)
_register(_end_pools)
atexit.register(_native.rest)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
