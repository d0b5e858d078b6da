"""``concurrency: 1``: the main thread reads a call, runs it, and writes the reply; no hop between threads."""

from __future__ import annotations

from .call import Call
from .runner import Loop, next_effect
from .session import Phase, Send, Session, Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from .execution import Execution
    from .session import Effect
    from .transport import Lane

_SERVING = Phase.SERVING
_LOOK_MS: Final = 50


class Inline:
    def __init__(self, session: Session, data: Lane) -> None:
        self._session = session
        self._data = data
        self._stopped = False
        self._loop = Loop()
        self.run_hooks = self._loop.run_hooks
        self.close = self._loop.close

    def serve(self, execution: Execution) -> None:
        # A step's locals end with it: while the next frame is awaited, nothing holds the last input.
        while not self._step(execution):
            pass

    def stop(self) -> None:
        self._stopped = True

    def _step(self, execution: Execution) -> bool:
        if self._session.phase is not _SERVING and not self._frame_comes():
            return True
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

    def _frame_comes(self) -> bool:
        """After STOP, amid chunks of the last call: its cancel may be the end, which no frame tells."""
        while not self._stopped:
            if self._data.reader.waits(_LOOK_MS):
                return True
        return False

    def _run(self, execution: Execution, call: Call) -> Effect | None:
        function = execution.find(call)
        if function is None:
            return self._session.finish(call.seq)
        if not function.needs_loop:
            return execution.run(call, function)
        return self._loop().run_until_complete(self._loop.start(execution, call, function))
