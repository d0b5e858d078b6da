"""``concurrency`` above 1: threads take turns at reading, one event loop on the main thread.

The thread that reads a synchronous call gives the lane to the next thread and runs the call itself, so a call
crosses no queue. Asynchronous calls, hooks and pings go to the main thread.
"""

from __future__ import annotations

import threading

from . import leaving
from .call import Call
from .effects import Cancel, Input, InputEnd, Send, Stop
from .main_thread import MainThread
from .runner import next_effect
from .session import HOST_GONE_EXIT, Session
from .transport import HostGone, Lane

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from .effects import Effect
    from .execution import Execution
    from .function import Function


class Threaded:
    def __init__(self, session: Session, data: Lane, concurrency: int) -> None:
        self._session = session
        self._data = data
        self._most = concurrency + 1  # one more than can be busy, so that somebody reads
        self._main = MainThread()
        self.run_hooks = self._main.run_hooks
        self.stop = self._main.stop
        self.close = self._main.close
        self._reading = threading.Lock()
        self._threads = 0  # this and the next: changed under the reading lock only
        self._busy = 0
        self._exit: SystemExit | None = None
        data.writer.interleave = True

    def serve(self, execution: Execution) -> None:
        with self._reading:
            self._add_thread(execution)
        self._main.run()
        if self._exit is not None:
            raise self._exit

    def _add_thread(self, execution: Execution) -> None:
        self._threads += 1
        name = f"ganger-call-{self._threads}"
        threading.Thread(target=self._take_turns, args=(execution,), name=name, daemon=True).start()

    def _take_turns(self, execution: Execution) -> None:
        try:
            was_busy = False
            while True:
                was_busy = self._turn(execution, was_busy)
        except SystemExit as error:
            if self._data.writer.forked:  # a child forked by the function has only this thread
                leaving.at_once(leaving.exit_code(error))
            self._exit = error
            self.stop()
        except HostGone:
            leaving.at_once(HOST_GONE_EXIT)

    def _turn(self, execution: Execution, was_busy: bool) -> bool:
        """Reads until there is a synchronous call, runs it with the lane given to another thread."""
        with self._reading:
            self._busy -= was_busy
            taken = self._read_until_sync(execution)
            self._busy += 1
            if self._busy >= self._threads and self._threads < self._most:
                self._add_thread(execution)
        call, function = taken
        self._follow(execution.run(call, function))
        return True

    def _read_until_sync(self, execution: Execution) -> tuple[Call, Function]:
        while True:
            effect = next_effect(self._session, self._data)
            if type(effect) is Call:
                function = execution.find(effect)
                if function is None:
                    self._follow(self._session.finish(effect.seq))
                elif function.needs_loop:
                    self._main.soon(self._begin, execution, effect, function)
                else:
                    return effect, function
            else:
                self._follow(effect)

    def _begin(self, execution: Execution, call: Call, function: Function) -> None:
        task = self._main.start(execution, call, function)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Effect | None]) -> None:
        try:
            self._follow(task.result())
        except HostGone:
            leaving.at_once(HOST_GONE_EXIT)

    def _follow(self, effect: Effect | None) -> None:
        if type(effect) is Send:
            if effect.pong:
                self._main.soon(self._data.writer.send, effect.data)
            else:
                self._data.writer.send(effect.data)
        elif type(effect) is Input or type(effect) is InputEnd:
            effect.follow()
        elif type(effect) is Cancel:
            effect.call.ask_to_stop()
        elif type(effect) is Stop:
            self.stop()
