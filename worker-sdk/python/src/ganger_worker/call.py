"""One running call: what its frame said, and whether it was asked to stop."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .arena import Lent
    from .protocol import CallBody


class Call:
    __slots__ = (
        "cancelled",
        "deadline",
        "encoding",
        "fields",
        "lent",
        "on_cancel",
        "payload",
        "reason",
        "seq",
        "view",
    )

    def __init__(self, seq: int, fields: CallBody, encoding: int, payload: bytes) -> None:
        self.seq = seq
        self.fields = fields
        self.encoding = encoding
        self.payload = payload
        # The input lies in shared memory, and `payload` is empty.
        self.lent: Lent | None = None
        # The host's value was a view; for a function that does not say what it takes.
        self.view = False
        self.deadline: float | None = None
        self.cancelled = False
        self.reason = ""
        # Set by an asynchronous run. Whoever comes second, it or the cancel, sees the other: the flag is set
        # before this is read, and this is set before the flag is read.
        self.on_cancel: Callable[[], object] | None = None

    def ask_to_stop(self) -> None:
        """The part of a cancel that reaches an asynchronous function; the session has set the flag."""
        on_cancel = self.on_cancel
        if on_cancel is not None:
            on_cancel()
