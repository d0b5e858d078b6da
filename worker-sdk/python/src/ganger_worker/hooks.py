"""``@startup`` and ``@shutdown``: what runs once before READY and once after the last call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeVar

    Hook = TypeVar("Hook", bound=Callable[[], object])

startup_hooks: Final[list[Callable[[], object]]] = []
shutdown_hooks: Final[list[Callable[[], object]]] = []


def startup(hook: Hook) -> Hook:
    """Runs this function, sync or async, before the worker takes calls; in order of definition."""
    startup_hooks.append(hook)
    return hook


def shutdown(hook: Hook) -> Hook:
    """Runs this function, sync or async, when the worker was told to stop and its last call has ended."""
    shutdown_hooks.append(hook)
    return hook
