"""A shop whose functions fail in different ways."""

import os
import signal

from ganger_worker import action, context


class OutOfStock(Exception):
    def __init__(self, left: int) -> None:
        super().__init__(f"only {left} left")
        self.left = left  # travels to the caller with the error


@action
def order(count: int) -> str:
    if count > 3:
        raise OutOfStock(left=3)
    return f"{count} ordered"


@action
def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)  # as a bug in C code or the kernel's memory killer would


@action(idempotent=True)
def restock() -> str:
    if context.attempt == 1:
        crash()
    return f"done at attempt {context.attempt}"
