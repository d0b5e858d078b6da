"""``concurrency: 1``: the main thread reads a call, runs it, and writes the reply; no hop between threads."""

from __future__ import annotations

from .call import Call
from .execution import Execution
from .runner import Loop, next_effect
from .session import Effect, Send, Session, Stop
from .transport import Lane


class Inline:
    def __init__(self, session: Session, data: Lane) -> None:
        self._session = session
        self._data = data
        self._loop = Loop()
        self.run_hooks = self._loop.run_hooks
        self.close = self._loop.close

    def serve(self, execution: Execution) -> None:
        # A step's locals end with it: while the next frame is awaited, nothing holds the last input.
        while not self._step(execution):
            pass

    def _step(self, execution: Execution) -> bool:
        effect = next_effect(self._session, self._data)
        while effect is not None:
            if type(effect) is Call:
                effect = self._run(execution, effect)
            elif type(effect) is Send:
                self._data.writer.send(effect.data)
                return False
            else:
                return type(effect) is Stop
        return False

    def _run(self, execution: Execution, call: Call) -> Effect | None:
        function = execution.find(call)
        if function is None:
            return self._session.finish(call.seq)
        if not function.needs_loop:
            return execution.run(call, function)
        from .tasks import start  # imports asyncio

        loop = self._loop()
        return loop.run_until_complete(start(loop, execution, call, function))
