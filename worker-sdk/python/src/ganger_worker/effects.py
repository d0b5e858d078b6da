"""What the session wants of its worker.

Beside these there is a Call as an effect: run it; and a Frame: it brings a call that was handed over ahead,
which the session takes up when nothing else runs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from .arena import Lent
    from .call import Call
    from .protocol import Frame, Welcome


class Load:
    """WELCOME came: load the user's code with these settings, then say ready."""

    __slots__ = ("welcome",)

    def __init__(self, welcome: Welcome) -> None:
        self.welcome = welcome


class Cancel:
    """Ask a running call to stop."""

    __slots__ = ("call", "reason")

    def __init__(self, call: Call, reason: str) -> None:
        self.call = call
        self.reason = reason


class Send:
    """Write a frame to data. ``pong`` says that the loop which runs calls must do it.

    ``ends`` is a call that never ran: once the frame is written, the session must be told by ``ended``.
    """

    __slots__ = ("data", "ends", "pong")

    def __init__(self, data: bytes, *, pong: bool = False, ends: int = 0) -> None:
        self.data = data
        self.pong = pong
        self.ends = ends


class Stop:
    """No call runs any more and none will come: run the shutdown hooks and end."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Exit:
    __slots__ = ("code", "message")

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message


class Input:
    """An item of a running call's input stream; ``lent`` is where it lies, if not in ``payload``."""

    __slots__ = ("call", "flags", "lent", "payload")

    def __init__(self, call: Call, flags: int, payload: bytes, lent: Lent | None) -> None:
        self.call = call
        self.flags = flags
        self.payload = payload
        self.lent = lent

    def follow(self) -> None:
        if self.call.incoming is not None:
            self.call.incoming.put(self)


class InputEnd:
    """No item follows in a running call's input stream."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    def follow(self) -> None:
        if self.call.incoming is not None:
            self.call.incoming.end()


class Credit:
    """The stream of a running call may go on by so much (R29)."""

    __slots__ = ("call", "items", "size")

    def __init__(self, call: Call, items: int, size: int) -> None:
        self.call = call
        self.items = items
        self.size = size


if TYPE_CHECKING:
    Effect: TypeAlias = Load | Call | Frame | Cancel | Send | Stop | Exit | Input | InputEnd | Credit
