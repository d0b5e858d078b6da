"""Who listens to the events of a pool."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

from . import _native
from ._generated.errors import InvalidOption
from ._generated.events import EVENT_NAMES

Listener: TypeAlias = Callable[[Any], object]

logger = logging.getLogger("ganger")


class Listeners:
    """The listeners of a pool by event.

    The core is told of an event's first one, and when the last one is gone.
    """

    def __init__(self, pool: _native.Pool) -> None:
        self._pool = pool
        # Lists are replaced, never changed: another thread may be reading one.
        self._by_event: dict[str, list[Listener]] = {}
        self._subscriptions: dict[str, _native.Subscription] = {}

    def add(self, event: str, listener: Listener) -> None:
        if event not in EVENT_NAMES:
            known = ", ".join(EVENT_NAMES)
            raise InvalidOption(f"there is no event {event!r}; there are {known}")
        self._by_event[event] = [*self._by_event.get(event, []), listener]
        if event not in self._subscriptions:
            self._subscriptions[event] = self._pool.subscribe(event, _Teller(self, event))

    def remove(self, event: str, listener: Listener) -> bool:
        listeners = list(self._by_event.get(event, []))
        if listener not in listeners:
            return False
        listeners.remove(listener)
        self._by_event[event] = listeners
        if not listeners and event in self._subscriptions:
            self._pool.unsubscribe(self._subscriptions.pop(event))
        return True

    def tell(self, event: str, data: Any) -> None:
        for listener in self._by_event.get(event, []):
            try:
                listener(data)
            except Exception:
                logger.warning("a listener of %s failed", event, exc_info=True)


class _Teller:
    """What the core holds: not the listeners themselves, which may hold the pool that holds the core."""

    def __init__(self, listeners: Listeners, event: str) -> None:
        self._listeners = weakref.ref(listeners)
        self._event = event

    def __call__(self, data: Any) -> None:
        listeners = self._listeners()
        if listeners is not None:
            listeners.tell(self._event, data)
