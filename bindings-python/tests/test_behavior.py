"""The scenarios that hold whatever language the app and the worker are written in (tests/behavior)."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any, cast

import pytest

import support
from ganger import CallFuture, GangerError, Pool, Progress

ROOT = Path(__file__).resolve().parents[2]
WORKERS = ROOT / "tests" / "behavior" / "workers"
SCENARIOS: list[dict[str, Any]] = json.loads((ROOT / "tests" / "behavior" / "scenarios.json").read_text())
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LANGUAGES = ("python", "node", "rust", "go")


def worker_of(language: str) -> dict[str, Any]:
    if language == "python":
        return {"python": str(WORKERS / "behavior.py")}
    if language == "node":
        return {"node": str(WORKERS / "behavior.mjs")}
    kinds = ("go",) if language == "go" else ("debug", "release")
    built = [TARGET / kind / "behavior-worker" for kind in kinds]
    program = next((path for path in built if path.is_file()), None)
    if program is None and language == "go" and "CI" not in os.environ:
        pytest.skip("no worker in Go: make programs builds it where there is a toolchain")
    assert program, "build it first: make programs"
    return {"command": [str(program)]}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
def test_scenario(language: str, scenario: dict[str, Any], tmp_path: Path) -> None:
    if language in scenario.get("not_for", ()):
        pytest.skip(f"not for {language}")
    options: dict[str, Any] = {"workers": 1, **worker_of(language), **scenario.get("options", {})}
    with Pool(**options) as pool:
        Play(pool, language, tmp_path).steps(scenario["steps"])


class Play:
    """One scenario on one pool."""

    def __init__(self, pool: Pool, language: str, scratch: Path) -> None:
        self.pool = pool
        self.language = language
        self.scratch = scratch
        self.pids: list[Any] = []

    def steps(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            if "stats" in step:
                self.await_stats(step["stats"])
                continue
            if "stream" in step:
                if self.language not in step.get("not_for", ()):
                    self.read(step)
                continue
            together = step.get("together", [step])
            calls = [call for call in together if self.language not in call.get("not_for", ())]
            for call, (future, told) in [(call, self.submit(call)) for call in calls]:
                self.check(call, future)
                if "progress" in call:
                    assert told[-1]._asdict() == call["progress"]

    def await_stats(self, wanted: dict[str, Any]) -> None:
        support.eventually(lambda: self.stats(wanted) == wanted, f"stats are {wanted}")

    def stats(self, wanted: dict[str, Any]) -> dict[str, Any]:
        stats: Any = self.pool.stats()
        found: dict[str, Any] = {}
        for name in wanted:
            value = stats
            for part in name.split("."):
                value = value[part]
            found[name] = value
        return found

    def submit(self, call: dict[str, Any]) -> tuple[CallFuture[Any], list[Progress]]:
        told: list[Progress] = []
        future = self.pool.submit(call["call"], self.input(call), **self.more(call, told))
        return future, told

    def read(self, step: dict[str, Any]) -> None:
        told: list[Progress] = []
        with self.pool.stream(step["stream"], self.input(step), **self.more(step, told)) as stream:
            wanted = items_of(step["items"])
            assert list(itertools.islice(stream, step.get("take", len(wanted)))) == wanted
            if "error" in step:
                with pytest.raises(GangerError) as raised:
                    next(stream)
                self.check_error(step["error"], raised.value)
            elif "take" not in step:
                assert list(stream) == []

    def input(self, call: dict[str, Any]) -> Any:
        value: Any = call.get("input")
        if isinstance(value, dict) and "scratch" in value:
            name = cast("dict[str, str]", value)["scratch"]
            return str(self.scratch / name)
        return cast("Any", value)

    def more(self, call: dict[str, Any], told: list[Progress]) -> dict[str, Any]:
        """Options, and what else goes along with a call."""
        found = dict(call.get("options", {}))
        if "inputs" in call:
            found["inputs"] = items_of(call["inputs"])
        if "progress" in call:
            found["on_progress"] = told.append
        return found

    def check(self, call: dict[str, Any], future: CallFuture[Any]) -> None:
        if "error" in call:
            with pytest.raises(GangerError) as raised:
                future.result(60)
            self.check_error(call["error"], raised.value)
            return
        result, wanted = future.result(60), call["result"]
        if isinstance(wanted, dict) and "to" in wanted:
            assert wanted["from"] <= result <= wanted["to"], (call, result)
            return
        if call["call"] != "pid":
            assert result == wanted, call
            return
        if "same_pid_as" in wanted:
            assert result == self.pids[wanted["same_pid_as"] - 1]
        if "other_pid_than" in wanted:
            assert result != self.pids[wanted["other_pid_than"] - 1]
        self.pids.append(result)

    def check_error(self, wanted: dict[str, Any], error: GangerError) -> None:
        for name, value in wanted.items():
            if name == "message":
                assert value in str(error), error
            elif name == "culprit":
                assert error.worker is not None
                assert error.worker["culprit"] == value
            else:
                assert getattr(error, name) == value, (name, error)


def items_of(noted: Any) -> list[Any]:
    return list(range(cast("dict[str, int]", noted)["count"])) if isinstance(noted, dict) else noted
