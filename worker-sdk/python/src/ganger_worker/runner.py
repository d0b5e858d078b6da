"""What both ways of running calls share: reading effects, and hooks on the main thread."""

from __future__ import annotations

from . import leaving
from .effects import Exit
from .protocol import Violation
from .session import VIOLATION_EXIT, Session
from .transport import HostGone, Lane

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any, Protocol

    from .call import Call
    from .effects import Effect
    from .execution import Execution
    from .function import Function

    Start = Callable[[asyncio.AbstractEventLoop, Execution, Call, Function], asyncio.Task[Effect | None]]

    class Runner(Protocol):
        def serve(self, execution: Execution) -> None:
            """Runs calls until the host says stop; SystemExit of a function comes through."""
            ...

        def stop(self) -> None:
            """From any thread: the last call has ended after a STOP."""
            ...

        def run_hooks(self, hooks: list[Callable[[], object]]) -> None: ...

        def close(self) -> None:
            """After the last hook: ends what the user's code left on the event loop."""
            ...


class Loop:
    """The event loop of the main thread, made when something first needs it: importing asyncio takes time."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._start: Start | None = None

    def __call__(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            import asyncio

            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            self._adopt(loop)
            return loop
        return self._loop

    def start(self, execution: Execution, call: Call, function: Function) -> asyncio.Task[Effect | None]:
        """An asynchronous call as a task of the loop."""
        if self._start is None:
            from .tasks import start  # imports asyncio

            self._start = start
        return self._start(self(), execution, call, function)

    def run_hooks(self, hooks: list[Callable[[], object]]) -> None:
        for hook in list(hooks):
            result = hook()
            if result is not None and _is_awaitable(result):
                self().run_until_complete(_awaited(result))

    def close(self) -> None:
        if self._loop is None:
            return
        import asyncio

        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _adopt(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop


def _is_awaitable(result: object) -> bool:
    import inspect

    return inspect.isawaitable(result)


async def _awaited(result: Any) -> None:
    await result


def next_effect(session: Session, data: Lane) -> Effect | None:
    """Reads one frame of the data lane; does not come back when the host is gone or broke the protocol."""
    try:
        effect = session.on_data(data.reader.read())
    except HostGone:
        effect = session.end()
    except Violation as violation:
        effect = Exit(VIOLATION_EXIT, str(violation))
    if type(effect) is Exit:
        leaving.at_once(effect.code, effect.message)
    return effect
