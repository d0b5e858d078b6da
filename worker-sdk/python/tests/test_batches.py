"""Functions that take several calls at once: what may be declared, and what the session makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ganger_worker import action, values
from ganger_worker.batch import members
from ganger_worker.call import Call
from ganger_worker.effects import Cancel, Exit, Send, Stop
from ganger_worker.function import offered
from ganger_worker.protocol import Flag, Frame, Kind
from ganger_worker.session import Session


def test_a_contract_speaks_of_one_call() -> None:
    @action(batch=(8, "250ms"))
    def lengths(texts: list[str]) -> list[int]:
        return [len(text) for text in texts]

    contract = offered("lengths", lengths)[1]
    assert contract["batch"] == {"max": 8, "wait_ms": 250}
    assert contract["input"] == {"type": "string"}
    assert contract["output"] == {"type": "integer"}


@action(batch=(2, 0))
def yields(items: list[int]) -> Iterator[int]:
    yield from items


@action(batch=(2, 0))
def reads(items: Iterator[int]) -> list[int]:
    return list(items)


@action(batch=(2, 0))
def takes_two(items: list[int], more: int) -> list[int]:
    return [*items, more]


@action(batch=(2, 0))
def takes_a_map(item: dict[str, int]) -> list[int]:
    return list(item.values())


@pytest.mark.parametrize("function", [yields, reads, takes_two, takes_a_map], ids=lambda it: it.__name__)
def test_what_cannot_take_batches_says_so_at_the_start(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="has a batch: it"):
        offered(function.__name__, function)


@pytest.mark.parametrize("batch", [(0, 1), (2, -1), (2, "soon"), (1.5, 1)])
def test_a_batch_that_makes_no_sense_is_refused(batch: Any) -> None:
    with pytest.raises(ValueError, match="batch"):
        action(batch=batch)


def serving() -> Session:
    session = Session()
    session.on_control(Frame(Kind.WELCOME, 0, 0, values.encode_body({"version": 1}), b""))
    session.ready([])
    return session


def call(session: Session, seq: int, first: int, count: int) -> object:
    body = values.encode_body(["f", 1, None, 0, None, [first, count]])
    return session.on_data(Frame(Kind.CALL, Flag.CRITICAL, seq, body, b"\x01"))


def cancel(session: Session, seq: int) -> object:
    return session.on_control(Frame(Kind.CANCEL, 0, seq, b"", b""))


def begun(session: Session, count: int) -> Call:
    effects = [call(session, seq, 1, count) for seq in range(1, count + 1)]
    whole = effects.pop()
    assert effects == [None] * (count - 1)
    assert isinstance(whole, Call)
    assert whole.batch is not None
    session.begin(whole.batch)
    return whole


def test_the_last_call_sets_a_batch_going() -> None:
    whole = begun(serving(), 3)
    assert [member.seq for member in members(whole)] == [1, 2, 3]
    assert whole.seq == 1


def test_a_cancel_lets_one_go_and_the_last_asks_the_function() -> None:
    session = serving()
    whole = begun(session, 3)
    for seq in (2, 1):
        gone = cancel(session, seq)
        assert isinstance(gone, Send)
        assert gone.ends == seq
        assert not whole.cancelled
        assert session.ended(seq) is None
        assert cancel(session, seq) is None
    last = cancel(session, 3)
    assert isinstance(last, Cancel)
    assert last.call is whole
    assert whole.cancelled
    assert [session.claim(member) for member in members(whole)] == [False, False, True]


def test_a_stop_waits_for_the_last_of_a_batch() -> None:
    session = serving()
    whole = begun(session, 2)
    gone = cancel(session, 1)
    assert isinstance(gone, Send)
    assert session.on_data(Frame(Kind.STOP, 0, 0, b"", b"")) is None
    assert session.finish(2) is None, "the answer to the cancel is not written"
    assert isinstance(session.ended(gone.ends), Stop)
    assert len(members(whole)) == 2


def test_who_was_cancelled_before_is_in_the_batch_and_has_his_answer() -> None:
    session = serving()
    assert cancel(session, 2) is None
    whole = begun(session, 2)
    one, two = members(whole)
    assert one.verdict is None
    assert two.verdict is not None
    assert two.verdict["code"] == "CANCELLED"


@pytest.mark.parametrize(("seq", "first"), [(2, 1), (2, 3)])
def test_a_call_in_the_middle_of_no_batch_is_a_violation(seq: int, first: int) -> None:
    assert isinstance(call(serving(), seq, first, 3), Exit)
