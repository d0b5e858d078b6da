"""Runs one call: input to arguments, the function, its result or error to the reply."""

from __future__ import annotations

from _contextvars import copy_context

from . import values
from .context import Cancelled, current
from .function import Style
from .protocol import RUN, Encoding, Flag, Kind
from .typed import cast
from .values import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .binding import Arguments
    from .call import Call
    from .function import Function
    from .loader import Functions
    from .session import Effect, Session
    from .transport import Writer

    Payload = bytes | bytearray | memoryview
    Parts = list[bytes | memoryview]

    # The flags of a RESULT, and its payload.
    Reply = tuple[int, Payload]

_BYTES: Final = (bytes, bytearray, memoryview)
_RESULT, _PICKLE, _RAW = Kind.RESULT, Encoding.PICKLE, Encoding.RAW


class Execution:
    def __init__(self, session: Session, writer: Writer, functions: Functions, max_payload: int) -> None:
        self._session = session
        self._writer = writer
        self._functions = functions.by_name
        self._max_payload = max_payload
        self._own: dict[str, Function] = {}
        shared = session.welcome.shared_memory if session.welcome is not None else None
        self._shared_from: float = shared.threshold if shared is not None else float("inf")
        self._dump: Callable[[object], bytes | Parts] | None = None

    def find(self, call: Call) -> Function | None:
        """The function that the call names; without one the call is answered here."""
        name = call.fields.function
        function = self._functions.get(name) or self._own.get(name)
        if function is None and name == RUN:
            from .pickling import run_function

            function = self._own[RUN] = run_function()
        if function is None:
            self._refuse(call, "NO_SUCH_FUNCTION", self._unknown(name))
        return function

    def run(self, call: Call, function: Function) -> Effect | None:
        """A synchronous function, on the calling thread. What the session wants next comes back."""
        arguments = self.arguments(call, function)
        if arguments is not None:
            current.set(call)
            try:
                result = copy_context().run(function.target, *arguments[0], **arguments[1])
                if not function.is_plain:
                    result = _collect(call, result)
                arguments = None
            except SystemExit:
                raise
            except BaseException as error:
                self.fail(call, error)
            else:
                reply = self.reply(call, result)
                del result  # it may look at the input
                self.answer(call, reply)
            finally:
                current.set(None)
        return self._session.finish(call.seq)

    async def run_async(self, call: Call, function: Function) -> Effect | None:
        """An asynchronous function, as its own task. Nothing is awaited once the function has ended."""
        arguments = self.arguments(call, function)
        if arguments is not None:
            current.set(call)
            try:
                if call.cancelled:
                    raise Cancelled(f"cancelled before it started ({call.reason})")
                if function.style is Style.ASYNC:
                    result = await function.target(*arguments[0], **arguments[1])
                else:
                    result = [item async for item in function.target(*arguments[0], **arguments[1])]
                arguments = None
            except SystemExit:
                raise
            except BaseException as error:
                self.fail(call, error)
            else:
                reply = self.reply(call, result)
                del result  # it may look at the input
                self.answer(call, reply)
        return self._session.finish(call.seq)

    def arguments(self, call: Call, function: Function) -> Arguments | None:
        """None: the input did not fit and the call has been answered."""
        try:
            arguments = function.arguments(call.encoding, call.fields.shape, _payload(call, function))
        except Refused as refused:
            self._refuse(call, "INVALID_INPUT", f"{refused.path}: {refused.reason}", refused.path)
            return None
        except BaseException as error:  # unpickling runs code
            self._report(call, error, "INVALID_INPUT")
            return None
        call.payload = b""
        return arguments

    # --- replies

    def reply(self, call: Call, result: Any) -> Reply | None:
        """None: the result cannot be sent and the call has been answered."""
        try:
            flags, payload = self._encoded(call, result)
        except Refused as refused:
            self._refuse(call, "INVALID_RESULT", f"{refused.path}: {refused.reason}", refused.path)
            return None
        except BaseException as error:  # so does pickling
            self._report(call, error, "INVALID_RESULT")
            return None
        size = len(payload) if type(payload) is bytes else _size(payload)
        if size > self._max_payload:
            text = f"a result of {size} bytes exceeds the {self._max_payload} that the pool allows"
            self._refuse(call, "PAYLOAD_TOO_LARGE", text)
            return None
        if size >= self._shared_from:
            return self._shared(call, flags, payload, size)
        return flags, payload if type(payload) is bytes else _joined(payload)

    def _shared(self, call: Call, flags: int, payload: Payload | Parts, size: int) -> Reply:
        """A large result as a reference: to where it came from if it is the input, else to a copy."""
        if call.lent is not None and type(payload) is memoryview and call.lent.is_whole(payload):
            return flags | Flag.SHARED, call.lent.reference()
        arenas = self._session.arenas(size)
        reference = None if arenas is None else arenas.write(payload, size)
        return (flags, _joined(payload)) if reference is None else (flags | Flag.SHARED, reference)

    def answer(self, call: Call, reply: Reply | None) -> None:
        if reply is not None:
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

        stopped = isinstance(error, Cancelled) or type(error).__name__ == "CancelledError"
        code = "CANCELLED" if stopped and call.cancelled else "CALL_FAILED"
        body = report(error, code)
        payload = _pickled_error(error) if call.encoding == _PICKLE else b""
        if len(payload) > self._max_payload:
            payload = b""
        flags = _PICKLE if payload else Encoding.MESSAGEPACK
        self._writer.send(error_frame(call.seq, body, payload, flags | _held(call)))

    def answer_error(self, call: Call, body: dict[str, object]) -> None:
        from .errors import error_frame

        self._writer.send(error_frame(call.seq, body, flags=_held(call)))

    def _refuse(self, call: Call, code: str, message: str, path: str | None = None) -> None:
        from .errors import refusal

        self.answer_error(call, refusal(code, message, path))

    def _report(self, call: Call, error: BaseException, code: str) -> None:
        from .errors import report

        self.answer_error(call, report(error, code, "$"))

    def _unknown(self, name: str) -> str:
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
        return call.lent.view() if by_view else call.lent.read()
    return memoryview(call.payload) if by_view else call.payload


def _size(payload: Payload | Parts) -> int:
    if isinstance(payload, list):
        return sum(len(part) for part in payload)
    return payload.nbytes if type(payload) is memoryview else len(payload)


def _joined(payload: Payload | Parts) -> Payload:
    return b"".join(payload) if isinstance(payload, list) else payload


def _held(call: Call) -> int:
    return Flag.HELD if call.lent is not None and call.lent.is_held_at_answer() else 0


def _collect(call: Call, items: Any) -> list[Any]:
    """A generator as one list (R31). Between items it can be stopped."""
    found: list[Any] = []
    for item in items:
        found.append(item)
        if call.cancelled:
            items.close()
            raise Cancelled(f"cancelled ({call.reason})")
    return found


def _pickled_error(error: BaseException) -> bytes:
    from .pickling import dump_error

    return dump_error(error)
