"""Waiting for credit or input on the event loop."""

from __future__ import annotations

import asyncio

from .context import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from .call import Call


class LoopWaiter:
    """Several coroutines of one call may wait: one that reads its input, one that produces."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._futures: list[asyncio.Future[None]] = []
        self._waits = False

    async def wait(self, ready: Callable[[], bool]) -> None:
        while not ready():
            future = self._loop.create_future()
            self._futures.append(future)
            # Whoever comes second, this or the one that wakes, sees the other.
            self._waits = True
            if ready():
                return
            await future

    async def interrupted(self, call: Call) -> NoReturn:
        """The cancel is on its way, and must not come while the function cleans up.

        One that has come already was swallowed by the function.
        """
        running = asyncio.current_task()
        if running is not None and not running.cancelling():
            await self._loop.create_future()
        raise Cancelled(f"cancelled ({call.reason})")

    def wake(self) -> None:
        if self._waits:
            self._waits = False
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)
