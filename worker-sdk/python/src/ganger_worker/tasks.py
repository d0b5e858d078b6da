"""Asynchronous calls as asyncio tasks that a cancel from another thread reaches."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call
    from .effects import Effect
    from .execution import Execution
    from .function import Function


def start(
    loop: asyncio.AbstractEventLoop, execution: Execution, call: Call, function: Function
) -> asyncio.Task[Effect | None]:
    """On the loop's thread. The task has a context of its own; its result is what the session wants next."""
    return loop.create_task(_run(loop, execution, call, function), context=copy_context())


async def _run(
    loop: asyncio.AbstractEventLoop, execution: Execution, call: Call, function: Function
) -> Effect | None:
    task = asyncio.current_task(loop)
    delivered = False

    def deliver() -> None:
        # Once: a second one would interrupt the function while it cleans up after the first.
        nonlocal delivered
        if not delivered and task is not None:
            delivered = True
            task.cancel(f"cancelled ({call.reason})")

    # Registered by the running task itself: a task cancelled before its first step would never answer.
    call.on_cancel = lambda: loop.call_soon_threadsafe(deliver)
    try:
        return await execution.run_async(call, function)
    finally:
        call.on_cancel = None
