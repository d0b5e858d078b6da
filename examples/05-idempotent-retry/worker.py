"""Functions whose worker dies, as if the machine ran out of memory."""

import os
import signal
from typing import Any

from ganger_worker import action, context


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@action
def charge() -> None:
    die()  # has the customer paid? nobody knows, so nobody tries again


@action(idempotent=True)
def convert(amount: float) -> dict[str, Any]:
    if context.attempt == 1:
        die()
    return {"amount": amount * 1.25, "attempt": context.attempt}


@action
def poison() -> None:
    die()
