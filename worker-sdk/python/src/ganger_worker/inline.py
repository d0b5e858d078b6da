"""``concurrency: 1``: the main thread reads a call, runs it, and writes the reply; no hop between threads."""

from __future__ import annotations

from . import leaving
from .call import Call
from .effects import Cancel, Exit, Input, InputEnd, Send, Stop
from .protocol import Frame
from .runner import Loop, next_effect
from .session import Phase, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from .effects import Effect
    from .execution import Execution
    from .function import Function
    from .pump import Pump
    from .transport import Lane

_SERVING = Phase.SERVING
_LOOK_MS: Final = 50


class Inline:
    def __init__(self, session: Session, data: Lane) -> None:
        self._session = session
        self._data = data
        self._stopped = False
        self._pump: Pump | None = None
        # What was read while a call ran and is for after it.
        self._later: list[Effect] = []
        self._loop = Loop()
        self.run_hooks = self._loop.run_hooks
        self.close = self._loop.close

    def serve(self, execution: Execution) -> None:
        execution.waiter = self._reading
        # A step's locals end with it: while the next frame is awaited, nothing holds the last input.
        while not self._step(execution):
            pass

    def stop(self) -> None:
        self._stopped = True

    def _step(self, execution: Execution) -> bool:
        if self._session.phase is not _SERVING and not self._later and not self._frame_comes():
            return True
        effect = self._later.pop(0) if self._later else next_effect(self._session, self._data)
        while effect is not None:
            if type(effect) is Call:
                effect = self._run(execution, effect)
            elif type(effect) is Frame:
                effect = self._take_up(effect)
            elif type(effect) is Stop:
                return True
            else:
                self._follow(effect)
                return False
        return False

    def _take_up(self, incoming: Frame) -> Effect | None:
        effect = self._session.take_up(incoming)
        if type(effect) is Exit:
            leaving.at_once(effect.code, effect.message)
        return effect

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
        if function.is_plain:
            return self._loop().run_until_complete(self._loop.start(execution, call, function))
        return self._run_streams(execution, call, function)

    def _follow(self, effect: Effect | None) -> None:
        if type(effect) is Send:
            self._data.writer.send(effect.data)
        elif type(effect) is Input or type(effect) is InputEnd:
            effect.follow()
        elif type(effect) is Cancel:
            effect.call.ask_to_stop()
        elif effect is not None:
            self._later.append(effect)

    # --- frames that come while a call runs

    def _read_one(self) -> None:
        self._follow(next_effect(self._session, self._data))

    def _reading(self) -> Pump:
        """While a plain function waits, its thread, which is the one that reads, goes on reading."""
        if self._pump is None:
            from .pump import Pump

            self._pump = Pump(self._data, self._read_one)
        return self._pump

    def _run_streams(self, execution: Execution, call: Call, function: Function) -> Effect | None:
        """On the event loop, which reads the lane as well."""
        loop = self._loop()
        loop.add_reader(self._data.descriptor, self._read_all)
        loop.call_soon(self._read_all_held)  # what came in one piece with the call
        try:
            return loop.run_until_complete(self._loop.start(execution, call, function))
        finally:
            loop.remove_reader(self._data.descriptor)

    def _read_all(self) -> None:
        # Once the call is answered, the next may come before the loop has stopped: what follows is its own.
        if not self._later:
            self._read_one()
            self._read_all_held()

    def _read_all_held(self) -> None:
        while self._data.reader.holds_frame and not self._later:
            self._read_one()
