"""What became of a broadcast on one worker."""

from __future__ import annotations

from typing import Any, NamedTuple


class WorkerOutcome(NamedTuple):
    """What one worker answered: a value, or the error in its place."""

    # The worker's place in the pool.
    worker: int

    # What the function returned; None if it did not.
    value: Any

    # Why it did not return anything; None if it did.
    error: BaseException | None

    def result(self) -> Any:
        """The value; raises the error if there is one."""
        if self.error is not None:
            raise self.error
        return self.value
