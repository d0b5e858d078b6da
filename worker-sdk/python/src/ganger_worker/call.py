"""One running call: what its frame said, and whether it was asked to stop."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .arena import Lent
    from .batch import Batch
    from .incoming import Incoming
    from .protocol import CallBody
    from .waiting import Waiter

# What a stream may send before the host has taken any of it in (R29).
STREAM_ITEMS = 64
STREAM_BYTES = 4 << 20


class Call:
    __slots__ = (
        "answered",
        "batch",
        "cancelled",
        "deadline",
        "encoding",
        "fields",
        "given",
        "granted_bytes",
        "granted_items",
        "incoming",
        "lent",
        "on_cancel",
        "payload",
        "reason",
        "seq",
        "verdict",
        "view",
        "waiter",
    )

    def __init__(self, seq: int, fields: CallBody, encoding: int, payload: bytes) -> None:
        self.seq = seq
        self.fields = fields
        self.encoding = encoding
        self.payload = payload
        # The input lies in shared memory, and `payload` is empty.
        self.lent: Lent | None = None
        # The copy of it that the function was given, if that is one byte string.
        self.given: bytes | None = None
        # The host's value was a view; for a function that does not say what it takes.
        self.view = False
        self.deadline: float | None = None
        self.cancelled = False
        self.reason = ""
        # It came with others; or it stands for all of them, as what their function runs as.
        self.batch: Batch | None = None
        # Of a call in a batch: changed under the session's lock, as a cancel may be what answers it.
        self.answered = False
        # The report that is its answer whatever its function makes of it.
        self.verdict: dict[str, object] | None = None
        # Counted from the beginning, by the control thread alone; what was sent of it, `outgoing` counts.
        self.granted_items = STREAM_ITEMS
        self.granted_bytes = STREAM_BYTES
        # Where its function waits for credit or input; where the items of its input stream come together.
        self.waiter: Waiter | None = None
        self.incoming: Incoming | None = None
        # Set by an asynchronous run. Whoever comes second, it or the cancel, sees the other: the flag is set
        # before this is read, and this is set before the flag is read.
        self.on_cancel: Callable[[], object] | None = None

    def ask_to_stop(self) -> None:
        """The part of a cancel that reaches a function which waits; the session has set the flag."""
        on_cancel = self.on_cancel
        if on_cancel is not None:
            on_cancel()
        self.wake()

    def grant(self, items: int, size: int) -> None:
        self.granted_items += items
        self.granted_bytes += size
        self.wake()

    def wake(self) -> None:
        """There may be what its function waits for."""
        waiter = self.waiter
        if waiter is not None:
            waiter.wake()
