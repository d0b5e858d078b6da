"""What apps are told without asking: records, warnings, and the trace that goes along."""

from __future__ import annotations

import logging
import threading
import warnings
from pathlib import Path
from typing import Any, Literal

import pytest

import support
from ganger import Pool, ProcessPool, reporting, trace_context

LEVELS = ["debug", "info", "warning", "error", "critical"]


def test_records_of_workers_go_to_the_logger_of_their_name(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "prices"):
        pool.call("log_all", {"levels": LEVELS})
        support.eventually(lambda: len(records(caplog)) == 4)
    assert [record.levelname for record in records(caplog)] == ["INFO", "WARNING", "ERROR", "CRITICAL"]
    record: Any = records(caplog)[0]
    assert record.getMessage() == "a info record"
    # What the record says of itself is true, whatever the worker has called its own fields.
    assert (record.pool, record.function, record.order) == ("basics", "log_all", 7)
    assert record.pid == record.process in [worker["pid"] for worker in pool.stats()["details"]]
    assert record.worker in (0, 1)


def test_records_below_the_level_and_printed_lines_are_not_forwarded(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "prices"):
        pool.call("say", "printed")
        pool.call("log_all", {"levels": LEVELS})
        support.eventually(lambda: len(records(caplog)) == 2)
    assert "printed" not in caplog.text


@pytest.mark.parametrize("language", ["node", "python"])
def test_what_a_call_logs_has_the_functions_name_in_each_language(
    language: Literal["node", "python"], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = tmp_path / "speaker.mjs"
    node.write_text("export const speak = (text, context) => context.log.info(text)\n")
    python = tmp_path / "speaker.py"
    python.write_text(
        "from ganger_worker import action, context\n@action\ndef speak(text): context.log.info(text)\n"
    )
    worker: Any = {"node": node} if language == "node" else {"python": python}
    with caplog.at_level(logging.INFO, "ganger"), Pool(**worker, workers=1) as pool:
        pool.call("speak", "good day")
        support.eventually(lambda: "good day" in caplog.messages)
    record: Any = next(record for record in caplog.records if record.getMessage() == "good day")
    assert (record.name, record.levelname, record.function) == ("ganger.speak", "INFO", "speak")


def test_a_worker_of_a_process_pool_logs_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), ProcessPool(1) as processes:
        processes.submit(logging.warning, "from a process").result()
    record = next(record for record in caplog.records if record.getMessage() == "from a process")
    assert (record.name, record.levelname) == ("root", "WARNING")


def test_a_handler_that_is_stuck_or_raises_holds_up_nothing() -> None:
    gate = threading.Event()
    entered = threading.Event()

    class Stuck(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            entered.set()
            gate.wait(support.LIMIT_S)
            raise RuntimeError(record.getMessage())

    handler = Stuck()
    logger = logging.getLogger("prices.audit")
    logger.addHandler(handler)
    try:
        with Pool(python=support.BASICS, workers=1) as pool:
            pool.call("log_all", {"levels": ["error"] * 200})
            assert entered.wait(support.LIMIT_S)
            assert pool.submit("add", {"a": 1}).result() == 2
            gate.set()
    finally:
        gate.set()
        logger.removeHandler(handler)


def test_a_warning_is_given_once_as_of_the_line_that_made_the_pool() -> None:
    told: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Pool(python=support.BASICS, workers=1, max_memory="1mb") as pool:
            pool.on("warning", told.append)
            pool.call("nothing")
            support.eventually(lambda: told)
    ours = [warning for warning in caught if warning.category is RuntimeWarning]
    assert len(ours) == 1
    assert ours[0].filename == __file__
    assert str(ours[0].message).startswith("pool 'basics': worker")
    assert "max_memory" in str(ours[0].message)


def test_a_warning_that_is_an_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    warn = reporting._warner("app.py", 7)  # pyright: ignore[reportPrivateUsage]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            warn({"pool": "p", "message": "something is amiss"})
    assert [record.getMessage() for record in caplog.records] == ["pool 'p': something is amiss"]


def test_the_callers_trace_goes_along(pool: Pool) -> None:
    assert pool.call("trace") == {}
    token = trace_context.set({"traceparent": "00-1-2-01"})
    try:
        assert pool.call("trace") == {"traceparent": "00-1-2-01"}
        assert pool.submit("trace").result() == {"traceparent": "00-1-2-01"}
        assert pool.call("trace", trace={"baggage": "a=b"}) == {"baggage": "a=b"}
        assert pool.call("trace", trace={}) == {}
    finally:
        trace_context.reset(token)
    assert pool.call("trace") == {}


def test_the_context_of_opentelemetry_goes_along() -> None:
    pytest.importorskip("opentelemetry.trace")
    code, out, errors = support.run("""
        assert "opentelemetry" not in sys.modules
        from opentelemetry import baggage, context, trace
        span = trace.NonRecordingSpan(trace.SpanContext(0x1234, 0x5678, False, trace.TraceFlags(1)))
        with Pool(python=BASICS, workers=1) as pool:
            say(pool.call("trace"))
            carried = baggage.set_baggage("customer", "7", trace.set_span_in_context(span))
            token = context.attach(carried)
            say(sorted(pool.call("trace").items()))
            say(pool.call("trace", trace={}))
            context.detach(token)
            say(pool.call("trace"))
    """)
    traceparent = f"00-{0x1234:032x}-{0x5678:016x}-01"
    assert (code, errors) == (0, "")
    assert out == f"{{}}\n{[('baggage', 'customer=7'), ('traceparent', traceparent)]}\n{{}}\n{{}}\n"


def records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "prices.audit"]
