"""How a measured app talks to the driver: JSON lines on stdout, answers on stdin."""

from __future__ import annotations

import json
import sys


def emit(metric: str, value: float, unit: str, count: int) -> None:
    _print({"metric": metric, "value": value, "unit": unit, "count": count})


def ask(question: str) -> float | None:
    """What only the driver sees: `cpu` seconds so far; `watch` begins and `growth` ends a look at memory."""
    _print({"ask": question})
    answer: float | None = json.loads(sys.stdin.readline())
    return answer


def skip(reason: str) -> None:
    """There is nothing to measure."""
    _print({"skip": reason})


def done() -> None:
    """All is measured; what is left is to close."""
    _print({"done": True})


def _print(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)
