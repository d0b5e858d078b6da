"""From an app's iterable into a running call, as fast as its function reads and no faster."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from .awaiting import PoolFuture, bell_here

if TYPE_CHECKING:
    import asyncio

# So many items of an asynchronous source are sent before others on the loop have their turn.
_TURN = 32


class Feeder(Protocol):
    """``error`` is what the source raised."""

    error: BaseException | None

    def stop(self) -> None:
        """The call has ended: nothing more is taken from the source."""
        ...


class ThreadFeeder:
    """Takes from a plain iterable on a thread of its own: a source may take its time, and so may the call."""

    def __init__(self, source: Iterable[object], inputs: _native.Inputs) -> None:
        self.error: BaseException | None = None
        self._source = source
        self._inputs = inputs
        # A source that never ends must not keep the app from its end.
        threading.Thread(target=self._run, name="ganger-inputs", daemon=True).start()

    def stop(self) -> None:
        """By itself: the next item finds that none is wanted."""

    def _run(self) -> None:
        items = None
        try:
            items = iter(self._source)
            if all(self._sent(item) for item in items):
                self._inputs.finish()
        except BaseException as error:
            self.error = error
            self._inputs.fail(_said(error))
        finally:
            del self._source
            if isinstance(items, Generator):  # a file, say, is the app's to close
                _quietly(items.close)

    def _sent(self, item: object) -> bool:
        sent = self._inputs.send(item)
        while sent is _native.NOTHING:
            room = PoolFuture[None]()
            self._inputs.tell(room)
            room.result()
            sent = self._inputs.resend()
        return sent is None


class LoopFeeder:
    """Takes from an asynchronous iterable on the loop that runs where the call is made."""

    def __init__(self, source: AsyncIterable[object], inputs: _native.Inputs) -> None:
        from asyncio import get_running_loop

        self.error: BaseException | None = None
        self._inputs = inputs
        self._loop = get_running_loop()
        self._stopped = False
        self._count = 0
        self._running = self._loop.create_task(self._run(source), name="ganger-inputs")

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            try:
                self._loop.call_soon_threadsafe(self._running.cancel)
            except RuntimeError:
                pass  # The loop is closed, and with it the source.

    async def _run(self, source: AsyncIterable[object]) -> None:
        bell = bell_here(self._loop)
        items = None
        try:
            items = aiter(source)
            async for item in items:
                if not await self._sent(item, bell):
                    return
            self._inputs.finish()
        except BaseException as error:
            self._failed(error)
        finally:
            self._stopped = True
            if isinstance(items, AsyncGenerator):
                await _quietly_async(items.aclose)

    async def _sent(self, item: object, bell: _native.Bell) -> bool:
        from asyncio import sleep

        self._count += 1
        if self._count % _TURN == 0:
            await sleep(0)  # neither the source nor the call may ever wait
        sent = self._inputs.send(item)
        while sent is _native.NOTHING:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._inputs.ring(bell, waiter)
            await waiter
            sent = self._inputs.resend()
        return sent is None

    def _failed(self, error: BaseException) -> None:
        from asyncio import CancelledError

        if self._stopped and isinstance(error, CancelledError):
            return
        self.error = error
        self._inputs.fail(_said(error))


def feeder(source: Iterable[object] | AsyncIterable[object], inputs: _native.Inputs) -> Feeder:
    if isinstance(source, AsyncIterable):
        return LoopFeeder(source, inputs)
    return ThreadFeeder(source, inputs)


def check(source: Any) -> None:
    """Before a call is made: whether there can be items."""
    if isinstance(source, AsyncIterable):
        from asyncio import get_running_loop

        try:
            get_running_loop()
        except RuntimeError:
            raise TypeError("an asynchronous iterable as inputs needs a running event loop") from None
    elif not isinstance(source, Iterable):
        raise TypeError(f"inputs is {type(source).__name__!r}, but must be an iterable")


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _quietly(close: Callable[[], object]) -> None:
    """Nobody is there any more to be told what a generator raises when it is closed."""
    try:
        close()
    except Exception:
        pass


async def _quietly_async(close: Callable[[], Awaitable[object]]) -> None:
    try:
        await close()
    except Exception:
        pass
