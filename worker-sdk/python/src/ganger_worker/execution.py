"""Runs one call: input to arguments, the function, its result or error to the reply."""

from __future__ import annotations

from _contextvars import copy_context

from . import values
from .context import Cancelled, current
from .function import Style
from .protocol import RUN, Encoding, Kind
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

_BYTES: Final = (bytes, bytearray, memoryview)
_RESULT, _PICKLE = Kind.RESULT, Encoding.PICKLE


class Execution:
    def __init__(self, session: Session, writer: Writer, functions: Functions, max_payload: int) -> None:
        self._session = session
        self._writer = writer
        self._functions = functions.by_name
        self._max_payload = max_payload
        self._own: dict[str, Function] = {}
        self._dumps: Callable[[object], bytes] | None = None

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
            except SystemExit:
                raise
            except BaseException as error:
                self.fail(call, error)
            else:
                self.answer(call, result)
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
            except SystemExit:
                raise
            except BaseException as error:
                self.fail(call, error)
            else:
                self.answer(call, result)
        return self._session.finish(call.seq)

    def arguments(self, call: Call, function: Function) -> Arguments | None:
        """None: the input did not fit and the call has been answered."""
        try:
            arguments = function.arguments(call.encoding, call.fields.shape, call.payload)
        except Refused as refused:
            self._refuse(call, "INVALID_INPUT", f"{refused.path}: {refused.reason}", refused.path)
            return None
        except BaseException as error:  # unpickling runs code
            self._report(call, error, "INVALID_INPUT")
            return None
        call.payload = b""
        return arguments

    # --- replies

    def answer(self, call: Call, result: Any) -> None:
        try:
            flags, payload = self._encoded(call, result)
        except Refused as refused:
            self._refuse(call, "INVALID_RESULT", f"{refused.path}: {refused.reason}", refused.path)
        except BaseException as error:  # so does pickling
            self._report(call, error, "INVALID_RESULT")
        else:
            size = payload.nbytes if type(payload) is memoryview else len(payload)
            if size <= self._max_payload:
                self._writer.send_payload(_RESULT, flags, call.seq, payload)
            else:
                text = f"a result of {size} bytes exceeds the {self._max_payload} that the pool allows"
                self._refuse(call, "PAYLOAD_TOO_LARGE", text)

    def _encoded(self, call: Call, result: Any) -> tuple[int, Payload]:
        """Bytes of any kind go out raw, from where they lie; a pickle is answered with a pickle."""
        if call.encoding == _PICKLE:
            if self._dumps is None:
                from .pickling import dumps

                self._dumps = dumps
            return _PICKLE, self._dumps(result)
        if isinstance(result, _BYTES):
            data = cast("Payload", result)
            if isinstance(data, memoryview) and not data.c_contiguous:
                data = data.tobytes()
            return Encoding.RAW, data
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
        self._writer.send(error_frame(call.seq, body, payload, flags))

    def answer_error(self, call: Call, body: dict[str, object]) -> None:
        from .errors import error_frame

        self._writer.send(error_frame(call.seq, body))

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
