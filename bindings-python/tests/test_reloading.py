"""New code: what is told of it when it cannot start, and how the old code leaves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import Pool

GREETING = """
import os
from ganger_worker import action, shutdown

@action
def greeting():
    return {}

@shutdown
def leave():
    os._exit({})
"""


def test_a_syntax_error_is_saved_old_workers_serve_on_and_an_event_says_why(tmp_path: Path) -> None:
    code = tmp_path / "greetings.py"
    code.write_text(GREETING.format("'hello'", 0))
    recycles: list[Any] = []
    exits: list[Any] = []
    with Pool(python=str(code), workers=1, watch=True) as pool:
        pool.on("worker:recycle", recycles.append)
        pool.on("worker:exit", exits.append)
        assert pool.call("greeting") == "hello"
        code.write_text(GREETING.format("('hello'", 0))
        support.eventually(lambda: pool.call("greeting") == "hello" and exits)
        failed = exits[0]
        assert failed["reason"] == "start-failed"
        assert "SyntaxError" in failed["error"]
        assert "return ('hello'" in failed["error"]
        code.write_text(GREETING.format("'good morning'", 0))
        support.eventually(lambda: pool.call("greeting") == "good morning")
        support.eventually(lambda: len(exits) >= 2)
    assert [(event["reason"], event["error"]) for event in exits[-2:]] == [
        ("recycled", None),
        ("shutdown", None),
    ]
    # Each saved file is a decision of its own, and is told once.
    assert {event["reason"] for event in recycles} == {"reload"}
    assert len(recycles) <= 1 + sum(event["reason"] == "start-failed" for event in exits)


def test_who_listens_to_nothing_is_warned_that_new_code_cannot_start(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    code = tmp_path / "greetings.py"
    code.write_text(GREETING.format("'hello'", 0))
    with Pool(python=str(code), workers=1) as pool:
        assert pool.call("greeting") == "hello"
        code.write_text(GREETING.format("('hello'", 0))
        pool.reload()
        told = support.eventually(lambda: [str(each.message) for each in recwarn.list])
        assert re.search("serves on.*could not start.*SyntaxError", told[0], re.DOTALL)
        assert pool.call("greeting") == "hello"
    assert len(recwarn.list) == 1


def test_a_worker_that_leaves_as_it_was_told_did_not_exit_by_itself(tmp_path: Path) -> None:
    code = tmp_path / "greetings.py"
    code.write_text(GREETING.format("'hello'", 3))
    exits: list[Any] = []
    with Pool(python=str(code), workers=1) as pool:
        pool.on("worker:exit", exits.append)
        assert pool.call("greeting") == "hello"
        pool.reload()
        support.eventually(lambda: exits)
    told = [(event["reason"], event["cause"], event["code"]) for event in exits]
    assert told == [("recycled", "recycled", 3), ("shutdown", "close", 3)]


def test_a_reload_of_no_workers_is_told_too() -> None:
    reloads: list[Any] = []
    with Pool(python=support.BASICS, workers=1) as pool:
        pool.on("reload", reloads.append)
        pool.reload()
    assert [(event["files"], event["replaced"]) for event in reloads] == [([], 0)]
