"""Events and stats carry what tests/behavior/reports.json says, each as the type that is written there."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import support
from ganger import Pool

BEHAVIOR = Path(__file__).resolve().parents[2] / "tests" / "behavior"
REPORTS: dict[str, Any] = json.loads((BEHAVIOR / "reports.json").read_text())
TYPES: dict[str, type | tuple[type, ...]] = {
    "whole": int,
    "number": (int, float),
    "text": str,
    "yes or no": bool,
    "list": list,
    "map": dict,
}


def faults(promised: dict[str, Any], given: Any) -> list[str]:
    """What is missing or of another type."""
    return [
        f"{name} is {given.get(name, 'missing')!r}, not {kind}"
        for name, kind in promised.items()
        if name not in given or not fits(kind, given[name])
    ]


def fits(kind: Any, value: Any) -> bool:
    if isinstance(kind, list):
        return value in kind
    if value is None:
        return bool(kind.endswith("?"))
    wanted = TYPES[kind.removesuffix("?")]
    return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))


def test_events_and_stats_carry_what_is_promised(tmp_path: Path) -> None:
    file = Path(shutil.copy(BEHAVIOR / "workers" / "mortal.py", tmp_path / "mortal.py"))
    told: dict[str, list[Any]] = {name: [] for name in REPORTS["events"]}
    health: dict[str, Any] = {"health_interval": 0.2, "health_timeout": 0.3}
    with Pool(python=file, workers=1, watch=True, max_calls=5, **health) as pool:
        for name in told:
            pool.on(name, told[name].append)  # type: ignore[call-overload]  # pyright: ignore
        assert pool.call("die_once", str(tmp_path / "died"), idempotent=True) == "survived"
        support.eventually(lambda: told["worker:exit"], "a crash is told")
        os.kill(pool.call("pid"), signal.SIGSTOP)
        support.eventually(lambda: len(told["worker:exit"]) == 2, "silence is told")
        support.eventually(lambda: pool.call("pid") and told["worker:recycle"], "enough calls are told")
        file.write_text(file.read_text() + "\n# Changed.\n")
        support.eventually(lambda: pool.stats()["recycled"]["reload"], "changed code is told")
        pool.call("pid")
        stats = pool.stats()
        wrong = faults(REPORTS["stats"], stats) + faults(REPORTS["recycled"], stats["recycled"])
        assert (
            wrong + [fault for worker in stats["details"] for fault in faults(REPORTS["details"], worker)]
            == []
        )
    for name, promised in REPORTS["events"].items():
        assert told[name], f"{name} was never told"
        assert [fault for event in told[name] for fault in faults(promised, event)] == [], name
    assert {"crash", "unresponsive", "recycled", "shutdown"} == {
        exit["reason"] for exit in told["worker:exit"]
    }
    assert {"calls", "reload"} == {recycle["reason"] for recycle in told["worker:recycle"]}
