"""Errors: their classes, what they carry, and what they are besides."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import traceback
from typing import Any

import pytest

import ganger
import support
from ganger import (
    CallFailed,
    CallTimeout,
    DeadlineExceeded,
    ErrorCode,
    GangerError,
    PayloadTooLarge,
    Pool,
    QueueTimeout,
    RemoteError,
    WorkerCrashed,
)
from ganger._generated.errors import CLASSES


def test_there_is_a_class_for_every_code_but_cancelled() -> None:
    codes = set(ErrorCode.__args__)  # type: ignore[attr-defined]
    assert set(CLASSES) == codes - {"CANCELLED"}
    for code, kind in CLASSES.items():
        assert issubclass(kind, GangerError)
        assert kind.code == code
        assert getattr(ganger, kind.__name__) is kind
    assert not issubclass(WorkerCrashed, concurrent.futures.BrokenExecutor)


def test_a_functions_own_error_comes_with_its_traceback(shared_pool: Pool) -> None:
    with pytest.raises(CallFailed, match="ValueError: no good") as caught:
        shared_pool.call("fail")
    error = caught.value
    assert (error.fault, error.started, error.attempts) == ("function", "yes", 1)
    assert (error.function, error.safe_to_repeat) == ("fail", False)
    cause = error.__cause__
    assert isinstance(cause, RemoteError)
    assert (cause.type, cause.message, cause.language) == ("ValueError", "no good", "python")
    assert cause.cause is not None
    assert cause.cause.type == "KeyError"
    text = "".join(traceback.format_exception(error))
    assert "basics.py" in text
    assert "KeyError: 'missing'" in text
    assert "direct cause" in text


def test_an_errors_properties_come_along(shared_pool: Pool) -> None:
    with pytest.raises(CallFailed) as caught:
        shared_pool.call("fail_oddly")
    cause = caught.value.__cause__
    assert isinstance(cause, RemoteError)
    assert cause.properties == {"number": 7}


def test_timeouts_are_the_standard_one_as_well(pool: Pool) -> None:
    pool.call("nothing")
    with pytest.raises(TimeoutError) as timeout:
        pool.call("rest", 100.0, timeout=0.05)
    assert isinstance(timeout.value, CallTimeout)
    assert timeout.value.details["ran_ms"] >= 50
    with pytest.raises(TimeoutError) as deadline:
        pool.call("rest", 100.0, deadline=0.05)
    assert isinstance(deadline.value, DeadlineExceeded)


def test_a_call_that_waits_too_long_has_not_run() -> None:
    with Pool(python=support.BASICS, workers=1, close_timeout=0) as pool:
        blocker = pool.submit("rest", 1000.0)
        support.eventually(blocker.running)
        with pytest.raises(TimeoutError) as caught:
            pool.call("nothing", queue_timeout=0.05)
        assert isinstance(caught.value, QueueTimeout)
        assert (caught.value.started, caught.value.safe_to_repeat) == ("no", True)


def test_payloads_have_a_limit_each_way() -> None:
    with Pool(python=support.BASICS, workers=1, max_payload="1mb") as pool:
        with pytest.raises(PayloadTooLarge, match="input") as caught:
            pool.call("echo", b"x" * 2_000_000)
        assert caught.value.details["max_payload"] == 1_000_000
        with pytest.raises(PayloadTooLarge):
            pool.call("echo", {"value": [b"x" * 600_000] * 2})
        assert pool.call("add", {"a": 1}) == 2


def test_errors_can_be_pickled(shared_pool: Pool) -> None:
    with pytest.raises(CallFailed) as caught:
        shared_pool.call("fail")
    again: Any = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is CallFailed
    assert (again.message, again.function) == (caught.value.message, "fail")


def test_a_cancelled_call_raises_the_standard_error(pool: Pool) -> None:
    future = pool.submit("rest", 1000.0)
    assert future.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()

    async def awaited() -> None:
        await future

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(awaited())


def test_public_names_are_those_of_the_package() -> None:
    assert CallFailed.__module__ == ganger.Pool.__module__ == ganger.ProcessPool.__module__ == "ganger"
    for name in ganger.__all__:
        public = getattr(ganger, name)
        if isinstance(public, type):
            assert pickle.loads(pickle.dumps(public)) is public
