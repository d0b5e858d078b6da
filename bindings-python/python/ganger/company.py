"""What goes along with a call: a source of items for it, and whoever wants to know how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .future import CallFuture

if TYPE_CHECKING:
    from . import _native
    from .feeding import Feeder
    from .progress import Watcher

T = TypeVar("T")


class Company:
    """Of one call. It ends with it."""

    def __init__(self, watcher: Watcher | None) -> None:
        self.watcher = watcher
        self.feeder: Feeder | None = None

    @property
    def mailbox(self) -> _native.Progress | None:
        return None if self.watcher is None else self.watcher.mailbox

    def end(self) -> None:
        """The call has ended: the last news of it are told, and the source is left alone."""
        if self.watcher is not None:
            self.watcher.end()
        if self.feeder is not None:
            self.feeder.stop()

    def dismiss(self) -> None:
        """Nobody wants to know what became of the call."""
        if self.watcher is not None:
            self.watcher.forget()
        if self.feeder is not None:
            self.feeder.stop()

    def failure(self, error: BaseException) -> BaseException:
        """Why a call failed: because its source did, if it did."""
        source = None if self.feeder is None else self.feeder.error
        return error if source is None or not isinstance(error, Exception) else source


class AccompaniedFuture(CallFuture[T]):
    """The future of a call with company."""

    def __init__(self, call: _native.Call, company: Company) -> None:
        super().__init__(call)
        self._company = company

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._company.dismiss()
        return cancelled

    def waited(self) -> T:
        """The result. An exception from a signal's handler gives the call up."""
        try:
            return self.result()
        except BaseException:
            self.cancel()
            raise
        finally:
            del self

    def _read(self, value: Any, error: BaseException | None) -> tuple[Any, BaseException | None]:
        self._company.end()
        if error is not None:
            error = self._company.failure(error)
        return value, error
