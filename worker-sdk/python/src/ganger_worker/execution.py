"""Runs one call: input to arguments, the function, its result or error to the reply."""

from __future__ import annotations

from _contextvars import copy_context

from . import leaving, values
from .batch import members
from .context import Cancelled, InvalidItem, current
from .protocol import RUN, Encoding, Flag, Kind
from .session import HOST_GONE_EXIT
from .transport import HostGone
from .typed import cast
from .values import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .arena import Lent
    from .binding import Arguments
    from .call import Call
    from .effects import Effect
    from .function import Function
    from .loader import Functions
    from .session import Session
    from .transport import Writer
    from .waiting import ThreadWaiter

    Payload = bytes | bytearray | memoryview
    Parts = list[bytes | memoryview]

    # The flags of a RESULT, and its payload.
    Reply = tuple[int, Payload]

_BYTES: Final = (bytes, bytearray, memoryview)
_LONGEST_REPEATED: Final = 200  # characters of an unknown name, in a message
_RESULT, _ITEM, _PICKLE, _RAW = Kind.RESULT, Kind.ITEM, Encoding.PICKLE, Encoding.RAW


class Unsendable(Exception):
    """A result or an item that cannot be sent; ``report`` is the body of the ERROR that says so."""

    def __init__(self, report: dict[str, object]) -> None:
        super().__init__()
        self.report = report


class Execution:
    """Shared by all calls. ``control`` is the lane on which credit for input streams goes back."""

    def __init__(
        self,
        session: Session,
        writer: Writer,
        functions: Functions,
        max_payload: int,
        control: Writer | None = None,
    ) -> None:
        self.session = session
        self._writer = writer
        self._control = writer if control is None else control
        self._functions = functions.by_name
        self._max_payload = max_payload
        self._own: dict[str, Function] = {}
        shared = session.welcome.shared_memory if session.welcome is not None else None
        self._shared_from: float = shared.threshold if shared is not None else float("inf")
        self._dump: Callable[[object], bytes | Parts] | None = None
        # Where a function on a thread waits, by what runs the calls; None: by itself.
        self.waiter: Callable[[], ThreadWaiter] | None = None

    def find(self, call: Call) -> Function | None:
        """The function that the call names; without one the call is answered here."""
        name = call.fields.function
        function = self._functions.get(name) or self._own.get(name)
        if function is None and name == RUN:
            from .pickling import run_function

            function = self._own[RUN] = run_function()
        if function is None:
            self._refuse_all(call, "NO_SUCH_FUNCTION", self._unknown(name))
        elif call.batch is not None and not function.batched:
            self._refuse_all(
                call, "INVALID_INPUT", f"'{name}' takes one input at a time, and was given a batch"
            )
            return None
        elif function.inputs is not None:
            # Before the next frame is read: it may be the first item.
            call.incoming = function.inputs.incoming(call, self._give_credit, self._writer.post_always)
        return function

    def run(self, call: Call, function: Function) -> Effect | None:
        """A synchronous function, on the calling thread. What the session wants next comes back."""
        if function.batched:
            from .batching import Run

            Run(self, call, function).sync()
            return self._finish(call)
        arguments = self.arguments(call, function)
        if arguments is not None:
            current.set(call)
            try:
                if function.is_plain:
                    result = copy_context().run(function.target, *arguments[0], **arguments[1])
                else:
                    result = self._run_streams(call, function, arguments)
                arguments = None
            except SystemExit:
                raise
            except Unsendable as unsendable:
                self.answer_error(call, unsendable.report)
            except BaseException as error:
                self.fail(call, error)
            else:
                reply = self.reply(call, result)
                del result  # it may look at the input
                self.answer(call, reply)
            finally:
                current.set(None)
        return self.session.finish(call.seq)

    async def run_async(self, call: Call, function: Function) -> Effect | None:
        """An asynchronous function, as its own task. Nothing is awaited once the function has ended."""
        if function.batched:
            from .batching import Run

            await Run(self, call, function).asynchronous()
            return self._finish(call)
        arguments = self.arguments(call, function)
        if arguments is not None:
            current.set(call)
            try:
                if call.cancelled:
                    raise Cancelled(f"cancelled before it started ({call.reason})")
                if function.is_plain:
                    result = await function.target(*arguments[0], **arguments[1])
                else:
                    result = await self._run_streams_async(call, function, arguments)
                arguments = None
            except SystemExit:
                raise
            except Unsendable as unsendable:
                self.answer_error(call, unsendable.report)
            except BaseException as error:
                self.fail(call, error)
            else:
                reply = self.reply(call, result)
                del result  # it may look at the input
                self.answer(call, reply)
        return self.session.finish(call.seq)

    def _finish(self, call: Call) -> Effect | None:
        effect = None
        for member in members(call):
            effect = self.session.finish(member.seq) or effect
        return effect

    def _run_streams(self, call: Call, function: Function, arguments: Arguments) -> Any:
        """Items in, items out, or both."""
        waiter = call.waiter = self._place_to_wait()
        if function.inputs is not None:
            arguments = function.inputs.filled(call, arguments, waiter)
        if not function.yields:
            return copy_context().run(function.target, *arguments[0], **arguments[1])
        from .producing import produce

        return copy_context().run(produce, self, call, function, arguments, waiter)

    async def _run_streams_async(self, call: Call, function: Function, arguments: Arguments) -> Any:
        from asyncio import get_running_loop

        from .looping import LoopWaiter

        waiter = call.waiter = LoopWaiter(get_running_loop())
        if function.inputs is not None:
            arguments = function.inputs.filled_async(call, arguments, waiter)
        if not function.yields:
            return await function.target(*arguments[0], **arguments[1])
        from .producing import produce_async

        return await produce_async(self, call, function, arguments, waiter)

    def _place_to_wait(self) -> ThreadWaiter:
        if self.waiter is not None:
            return self.waiter()
        from .waiting import Doorbell

        return Doorbell()

    def _give_credit(self, data: bytes) -> None:
        try:
            self._control.send(data)
        except HostGone:  # no concern of the function that reads
            leaving.at_once(HOST_GONE_EXIT)

    def arguments(self, call: Call, function: Function) -> Arguments | None:
        """None: the input did not fit and the call has been answered."""
        try:
            arguments = function.arguments(call.encoding, call.fields.shape, _payload(call, function))
        except Refused as refused:
            self._refuse(call, "INVALID_INPUT", f"{refused.path}: {refused.reason}", refused.path)
            return None
        except BaseException as error:  # unpickling runs code
            self._unreadable(call, error)
            return None
        call.payload = b""
        return arguments

    # --- replies

    def reply(self, call: Call, result: Any) -> Reply | None:
        """None: the result cannot be sent and the call has been answered."""
        try:
            return self._fitted(call, result, "a result")[0]
        except Unsendable as unsendable:
            self.answer_error(call, unsendable.report)
            return None

    def send_item(self, call: Call, item: Any) -> int:
        """One item of a stream, for which there is credit. How many bytes that takes comes back."""
        (flags, payload), size = self._fitted(call, item, "an item")
        self._writer.send_payload(_ITEM, flags, call.seq, payload)
        return size

    def _fitted(self, call: Call, value: Any, what: str) -> tuple[Reply, int]:
        """As it is sent, and its size. Raises Unsendable."""
        try:
            flags, payload = self._encoded(call, value)
        except Refused as refused:
            raise _unsendable("INVALID_RESULT", f"{refused.path}: {refused.reason}", refused.path) from None
        except BaseException as error:  # pickling runs code
            from .errors import report

            raise Unsendable(report(error, "INVALID_RESULT", "$")) from None
        size = len(payload) if type(payload) is bytes else _size(payload)
        if size > self._max_payload:
            text = f"{what} of {size} bytes exceeds the {self._max_payload} that the pool allows"
            raise _unsendable("PAYLOAD_TOO_LARGE", text)
        if size >= self._shared_from:
            return self._shared(call, flags, payload, size), size
        return (flags, payload if type(payload) is bytes else _joined(payload)), size

    def _shared(self, call: Call, flags: int, payload: Payload | Parts, size: int) -> Reply:
        """A large result as a reference: to where it came from if it is the input, else to a copy."""
        if call.lent is not None and _is_input(call, call.lent, payload):
            call.given = None
            return flags | Flag.SHARED, call.lent.reference()
        call.given = None  # its memory may be what the result needs
        arenas = self.session.arenas(size)
        reference = None if arenas is None else arenas.write(payload, size)
        return (flags, _joined(payload)) if reference is None else (flags | Flag.SHARED, reference)

    def answer(self, call: Call, reply: Reply | None) -> None:
        if call.verdict is not None:
            self.answer_error(call, call.verdict)
        elif reply is not None:
            flags, payload = reply
            if call.lent is not None and call.lent.is_held_at_answer():
                flags |= Flag.HELD
            self._writer.send_payload(_RESULT, flags, call.seq, payload)

    def _encoded(self, call: Call, result: Any) -> tuple[int, Payload | Parts]:
        """Bytes of any kind go out raw, from where they lie; a pickle is answered with a pickle."""
        if call.encoding == _PICKLE:
            if self._dump is None:
                from .pickling import dump

                self._dump = dump
            return _PICKLE, self._dump(result)
        if isinstance(result, _BYTES):
            data = cast("Payload", result)
            if not isinstance(data, memoryview):
                return _RAW, data
            return _RAW | Flag.VIEW, data if data.c_contiguous else data.tobytes()
        return 0, values.encode(result)

    def fail(self, call: Call, error: BaseException) -> None:
        from .errors import error_frame, report

        if call.verdict is not None:
            self.answer_error(call, call.verdict)
            return
        stopped = isinstance(error, Cancelled) or type(error).__name__ == "CancelledError"
        code = "CANCELLED" if stopped and call.cancelled else "CALL_FAILED"
        path = None
        if isinstance(error, InvalidItem):
            code, path = error.code, error.path
        body = report(error, code, path)
        payload = _pickled_error(error) if call.encoding == _PICKLE else b""
        if len(payload) > self._max_payload:
            payload = b""
        flags = _PICKLE if payload else Encoding.MESSAGEPACK
        self._writer.send(error_frame(call.seq, body, payload, flags | _held(call)))

    def answer_error(self, call: Call, body: dict[str, object]) -> None:
        from .errors import error_frame

        self._writer.send(error_frame(call.seq, call.verdict or body, flags=_held(call)))

    def _refuse_all(self, call: Call, code: str, message: str) -> None:
        """The first of a batch is left for who runs the calls to finish, as a call that came alone is."""
        for member in reversed(members(call)):
            member.answered = True
            self._refuse(member, code, message)
            if member.seq != call.seq:
                self.session.finish(member.seq)

    def _refuse(self, call: Call, code: str, message: str, path: str | None = None) -> None:
        from .errors import refusal

        self.answer_error(call, refusal(code, message, path))

    def _unreadable(self, call: Call, error: BaseException) -> None:
        from .errors import report

        body = report(error, "INVALID_INPUT", "$")
        body["message"] = f"the input cannot be read: {body['type']}: {body['message']}"
        self.answer_error(call, body)

    def _unknown(self, name: str) -> str:
        if len(name) > _LONGEST_REPEATED:
            name = name[:_LONGEST_REPEATED] + "…"
        if not self._functions:
            return f"no function '{name}': the worker has none; decorate them with @action"
        import difflib

        close = difflib.get_close_matches(name, [*self._functions, RUN], 1, cutoff=0.0)
        return f"no function '{name}'; the nearest name is '{close[0]}'"


def _payload(call: Call, function: Function) -> bytes | memoryview:
    """The input's bytes, from wherever they lie; as a view if they are raw and the function wants one."""
    if call.lent is not None and call.encoding == _PICKLE:
        return call.lent.private()
    by_view = call.encoding == _RAW and (call.view if function.view is None else function.view)
    if call.lent is not None:
        if by_view:
            return call.lent.view()
        data = call.lent.read()
        if call.encoding == _RAW:
            call.given = data
        return data
    return memoryview(call.payload) if by_view else call.payload


def _is_input(call: Call, lent: Lent, payload: Payload | Parts) -> bool:
    """Whether that is what the call came with: the very bytes, which cannot change, or all of the view."""
    if type(payload) is memoryview:
        return lent.is_whole(payload)
    return payload is call.given


def _size(payload: Payload | Parts) -> int:
    if isinstance(payload, list):
        return sum(len(part) for part in payload)
    return payload.nbytes if type(payload) is memoryview else len(payload)


def _joined(payload: Payload | Parts) -> Payload:
    return b"".join(payload) if isinstance(payload, list) else payload


def _held(call: Call) -> int:
    return Flag.HELD if call.lent is not None and call.lent.is_held_at_answer() else 0


def _unsendable(code: str, message: str, path: str | None = None) -> Unsendable:
    from .errors import refusal

    return Unsendable(refusal(code, message, path))


def _pickled_error(error: BaseException) -> bytes:
    from .pickling import dump_error

    return dump_error(error)
