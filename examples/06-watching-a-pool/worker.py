"""Something to watch."""

import os
import signal
import time

from ganger_worker import action, context


@action
def nap(seconds: float) -> None:
    time.sleep(seconds)


@action
def say(text: str) -> None:
    context.log.warning(text)


@action
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
