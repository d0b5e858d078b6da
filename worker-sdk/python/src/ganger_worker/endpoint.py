"""Where the lanes come from: inherited descriptors (1.1) or a named endpoint to attach to (1.2)."""

from __future__ import annotations

import os

from . import values
from .protocol import Kind, frame
from .transport import Lane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping


class NoHost(Exception):
    """Nothing says where a host is, or there is none."""


def connect(environment: MutableMapping[str, str] | None = None) -> tuple[Lane, Lane, str | None]:
    """``(data, control, address)``, the address of an endpoint only. What named them is removed from the
    environment, so that children have neither.
    """
    variables = os.environ if environment is None else environment
    data = variables.pop("GANGER_DATA_FD", None)
    control = variables.pop("GANGER_CONTROL_FD", None)
    address = variables.pop("GANGER_ENDPOINT", None)
    token = variables.pop("GANGER_TOKEN", "")
    if data is not None and control is not None:
        return _inherited(data), _inherited(control), None
    if address is not None:
        session = os.urandom(16).hex()
        try:
            both = [_attached(address, token, session, lane) for lane in ("data", "control")]
        except OSError as error:
            raise NoHost(f"cannot attach to {address}: {error.strerror}") from None
        return both[0], both[1], address
    raise NoHost("a worker is started by a pool, or attaches to one named by GANGER_ENDPOINT")


def _inherited(number: str) -> Lane:
    os.set_inheritable(int(number), False)
    return Lane(int(number))


def _attached(address: str, token: str, session: str, lane: str) -> Lane:
    import socket  # only a worker started by hand needs it

    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(address)
    sock.sendall(attach_frame(token, session, lane))
    return Lane(sock.detach())


def attach_frame(token: str, session: str, lane: str) -> bytes:
    return frame(Kind.ATTACH, body=values.encode_body({"token": token, "lane": lane, "session": session}))
