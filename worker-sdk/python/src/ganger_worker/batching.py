"""Functions that take the inputs of several calls as one list, and how each call gets its own end."""

from __future__ import annotations

from _collections_abc import Sequence
from _contextvars import copy_context

from .batch import members
from .context import Cancelled, current
from .hints import EMPTY, item_of
from .signature import Parameter, Signature
from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from .call import Call
    from .execution import Execution
    from .function import Function

_LISTS: Final = (list, Sequence, EMPTY)


def of_each(shape: Signature, function: str, *, one_result: bool) -> Signature:
    """What a batched function takes and returns of each call."""
    if not one_result:
        raise TypeError(f"{function} has a batch: it can neither yield items nor read an input stream")
    alone = len(shape.parameters) == 1 and not shape.variable_positional and not shape.variable_named
    if not alone or not _is_list(shape.parameters[0].hint):
        raise TypeError(f"{function} has a batch: it takes one parameter, a list of inputs")
    parameter = shape.parameters[0]
    returns = item_of(shape.returns) if _is_list(shape.returns) else EMPTY
    each = Parameter(parameter.name, item_of(parameter.hint), EMPTY)
    return Signature((each,), False, False, returns, lambda _hint: True)


class Run:
    """One call of a batched function."""

    def __init__(self, execution: Execution, call: Call, function: Function) -> None:
        self._execution = execution
        self._call = call
        self._function = function
        self._members: list[Call] = []

    def sync(self) -> None:
        inputs = self._begin()
        if not inputs:
            return
        current.set(self._call)
        try:
            results = copy_context().run(self._function.target, inputs)
            del inputs
        except SystemExit:
            raise
        except BaseException as error:
            self._fail(error)
        else:
            self._answer(results)
        finally:
            current.set(None)

    async def asynchronous(self) -> None:
        inputs = self._begin()
        if not inputs:
            return
        current.set(self._call)
        try:
            if self._call.cancelled:
                raise Cancelled(f"cancelled before it started ({self._call.reason})")
            results = await self._function.target(inputs)
            del inputs
        except SystemExit:
            raise
        except BaseException as error:
            self._fail(error)
        else:
            self._answer(results)

    def _begin(self) -> list[Any]:
        """The inputs of the calls that are left once each that cannot run has its answer."""
        inputs: list[Any] = []
        for member in members(self._call):
            if member.verdict is not None:
                self._execution.answer_error(member, member.verdict)
            elif (arguments := self._execution.arguments(member, self._function)) is not None:
                positional, named = arguments
                self._members.append(member)
                inputs.append(positional[0] if positional else next(iter(named.values())))
                continue
            member.answered = True
        if self._call.batch is not None:
            self._execution.session.begin(self._call.batch)
            self._let_go(inputs)
        return inputs

    def _let_go(self, inputs: list[Any]) -> None:
        """Those that were cancelled before now."""
        for at in reversed(range(len(inputs))):
            member = self._members[at]
            if member.cancelled and self._execution.session.claim(member):
                self._execution.fail(member, Cancelled(f"cancelled before it started ({member.reason})"))
            if member.answered:
                del self._members[at], inputs[at]

    def _answer(self, results: Any) -> None:
        expected = len(self._members)
        if not isinstance(results, (list, tuple)) or len(cast("list[Any]", results)) != expected:
            self._misfit(results, expected)
            return
        left: list[Any] = list(cast("list[Any]", results))
        del results
        for at, member in enumerate(self._members):
            result, left[at] = left[at], None
            if not self._execution.session.claim(member):
                continue
            if isinstance(result, BaseException):
                self._execution.fail(member, result)
                continue
            reply = self._execution.reply(member, result)
            del result  # it may look at the input
            self._execution.answer(member, reply)

    def _misfit(self, results: Any, expected: int) -> None:
        from .errors import refusal

        is_list = isinstance(results, (list, tuple))
        found = f"a list of {len(cast('list[Any]', results))}" if is_list else type(results).__name__
        text = f"$: a batch of {expected} needs a list of as many results, not {found}"
        for member in self._members:
            if self._execution.session.claim(member):
                self._execution.answer_error(member, refusal("INVALID_RESULT", text, "$"))

    def _fail(self, error: BaseException) -> None:
        for member in self._members:
            if self._execution.session.claim(member):
                self._execution.fail(member, error)


def _is_list(hint: Any) -> bool:
    return getattr(hint, "__origin__", hint) in _LISTS
