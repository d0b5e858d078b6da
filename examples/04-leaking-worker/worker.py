"""A model with a leak."""

import time

from ganger_worker import action, startup

leaked: list[bytes] = []


@startup
def load() -> None:
    time.sleep(3)  # as a large model would


@action
def predict(x: float) -> float:
    leaked.append(b"\1" * 5_000_000)
    return 2 * x
