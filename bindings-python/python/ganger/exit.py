"""The end of the interpreter, and its copies by fork: no pool delays the one or survives in the other."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from . import _native
from ._generated.errors import PoolClosed
from .awaiting import PoolFuture

_ThreadHook = Callable[[threading.ExceptHookArgs], object]

_open: WeakSet[Any] = WeakSet()


def remember(pool: _native.Pool, holder: object) -> None:
    """Has the pool ended with the interpreter, unless it was before."""
    _open.add(_Entry(pool, holder))


class _Entry:
    """Lives as long as the pool's holder, which it is hung on."""

    def __init__(self, pool: _native.Pool, holder: Any) -> None:
        self.pool = pool
        holder._at_exit = self


def _end_pools() -> None:
    """Idle pools go at once.

    Those with calls, closing or not, have until their close timeout, all at the same time. Ctrl-C, if nobody
    caught it, ends them at once.
    """
    at_once = _was_interrupted()
    if at_once:
        threading.excepthook = _without_closed_pools(threading.excepthook)
    waiting: list[PoolFuture[None]] = []
    for pool in [entry.pool for entry in _open]:
        if pool.forked:
            continue
        future = PoolFuture[None]()
        if not at_once and pool.calls():
            pool.close_soon(future, None)
            waiting.append(future)
        else:
            pool.terminate_soon()
    try:
        for future in waiting:
            future.result()
    except BaseException:
        for entry in _open:
            if not entry.pool.forked:
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


# Threads are joined before `atexit` has its turn, and one may wait for a call: the pools must go before.
_register = getattr(threading, "_register_atexit", atexit.register)
_register(_end_pools)
atexit.register(_native.rest)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
