"""The items of a call as they come: for a plain loop, and for one that awaits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, cast

from . import _native
from .awaiting import bell_here

if TYPE_CHECKING:
    from .company import Company

T = TypeVar("T")


class CallStream(Iterator[T], AsyncIterator[T]):
    """What a call yields: ``for item in stream`` or ``async for item in stream``.

    The worker may be 64 items or 4 MiB ahead of who reads; then its function waits. An error is raised where
    it happened: after the items that were yielded before it. What the function returned beside its items is
    the value of ``yield from stream``.

    Left before its end — closed, forgotten, or because the one who awaits it is cancelled — it cancels the
    call: the function sees what its language has for that, and the worker is free when it is gone. One reads
    it at a time.
    """

    def __init__(self, native: _native.Stream, company: Company | None) -> None:
        self._native = native
        self._company = company
        self._awaited = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        """Waits for the next item. Ctrl-C cancels the call."""
        item = self._next(wait=True)
        if item is _native.OVER:
            raise StopIteration(self._native.value())
        return cast("T", item)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while True:
            item = self._next(wait=False)
            if item is _native.OVER:
                raise StopAsyncIteration
            if item is not _native.NOTHING:
                return cast("T", item)
            await self._news()

    async def _news(self) -> None:
        from asyncio import get_running_loop

        if self._awaited:
            raise RuntimeError("the stream is awaited already: one reads it at a time")
        loop = get_running_loop()
        waiter = loop.create_future()
        self._native.ring(bell_here(loop), waiter)
        self._awaited = True
        try:
            await waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._awaited = False

    def close(self) -> None:
        """Leaves it: if the call has not ended it is cancelled, and there are no more items."""
        self._native.close()
        if self._company is not None:
            self._company.end()

    async def aclose(self) -> None:
        """As ``close``."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        company = getattr(self, "_company", None)
        if company is not None:
            company.dismiss()

    def _next(self, *, wait: bool) -> object:
        if self._company is None:
            return self._native.next(wait)
        try:
            item = self._native.next(wait)
        except BaseException as error:
            self._company.end()
            failure = self._company.failure(error)
            if failure is error:
                raise
        else:
            if item is _native.OVER:
                self._company.end()
            return item
        try:
            raise failure  # what the app's own source raised
        finally:
            # Or the error, its traceback and this frame would hold each other.
            del failure
