"""Runs one call: input to arguments, the function, its result or error to the reply."""

from __future__ import annotations

import difflib
from contextvars import copy_context
from typing import Any, Final, cast

from . import pickling
from .binding import Arguments
from .call import Call
from .context import Cancelled, current
from .errors import error_frame, refusal, report
from .function import Function, Style
from .loader import Functions
from .protocol import Encoding, Kind
from .session import Effect, Session
from .transport import Writer
from .values import Refused, encode

_BYTES: Final = (bytes, bytearray, memoryview)
_RESULT, _PICKLE = Kind.RESULT, Encoding.PICKLE
Payload = bytes | bytearray | memoryview


class Execution:
    def __init__(self, session: Session, writer: Writer, functions: Functions, max_payload: int) -> None:
        self._session = session
        self._writer = writer
        run = Function(pickling.RUN, pickling.run, pickling.run_arguments)
        self._functions = {**functions.by_name, pickling.RUN: run}
        self._max_payload = max_payload

    def find(self, call: Call) -> Function | None:
        """The function that the call names; without one the call is answered here."""
        function = self._functions.get(call.fields.function)
        if function is None:
            self.answer_error(call, refusal("NO_SUCH_FUNCTION", self._unknown(call.fields.function)))
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
            text = f"{refused.path}: {refused.reason}"
            self.answer_error(call, refusal("INVALID_INPUT", text, refused.path))
            return None
        except Exception as error:  # unpickling runs code
            self.answer_error(call, report(error, "INVALID_INPUT", "$"))
            return None
        call.payload = b""
        return arguments

    # --- replies

    def answer(self, call: Call, result: Any) -> None:
        try:
            flags, payload = _encoded(call, result)
        except Refused as refused:
            text = f"{refused.path}: {refused.reason}"
            self.answer_error(call, refusal("INVALID_RESULT", text, refused.path))
        except Exception as error:
            self.answer_error(call, report(error, "INVALID_RESULT", "$"))
        else:
            size = payload.nbytes if type(payload) is memoryview else len(payload)
            if size <= self._max_payload:
                self._writer.send_payload(_RESULT, flags, call.seq, payload)
            else:
                text = f"a result of {size} bytes exceeds the {self._max_payload} that the pool allows"
                self.answer_error(call, refusal("PAYLOAD_TOO_LARGE", text))

    def fail(self, call: Call, error: BaseException) -> None:
        stopped = isinstance(error, Cancelled) or type(error).__name__ == "CancelledError"
        code = "CANCELLED" if stopped and call.cancelled else "CALL_FAILED"
        body = report(error, code)
        payload = pickling.dump_error(error) if call.encoding == Encoding.PICKLE else b""
        if len(payload) > self._max_payload:
            payload = b""
        flags = Encoding.PICKLE if payload else Encoding.MESSAGEPACK
        self._writer.send(error_frame(call.seq, body, payload, flags))

    def answer_error(self, call: Call, body: dict[str, object]) -> None:
        self._writer.send(error_frame(call.seq, body))

    def _unknown(self, name: str) -> str:
        if len(self._functions) == 1:
            return f"no function '{name}': the worker has none; decorate them with @action"
        close = difflib.get_close_matches(name, self._functions, 1, cutoff=0.0)
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


def _encoded(call: Call, result: Any) -> tuple[int, Payload]:
    """Bytes of any kind go out raw, from where they lie; a pickle is answered with a pickle."""
    if call.encoding == _PICKLE:
        return _PICKLE, pickling.dumps(result)
    if isinstance(result, _BYTES):
        data = cast("Payload", result)
        if isinstance(data, memoryview) and not data.c_contiguous:
            data = data.tobytes()
        return Encoding.RAW, data
    return 0, encode(result)
