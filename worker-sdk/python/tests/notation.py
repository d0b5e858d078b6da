"""The vectors' notation of values, and their frames as a reader of this SDK reads them."""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

from ganger_worker import protocol

PROTOCOL = Path(__file__).resolve().parents[2] / "protocol"
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
KINDS = {name: number for name, number in vars(protocol.Kind).items() if name.isupper()}
NAMES = {number: name for name, number in KINDS.items()}
ENCODINGS = {"messagepack": 0x00, "raw": 0x10, "pickle5": 0x20, "unknown": 0x30}
FLAGS = {"CRITICAL": 0x01, "MORE": 0x02, "SHARED": 0x04, "AHEAD": 0x80}
LISTS = {
    "CALL": ("function", "attempt", "timeout_ms", "shape", "context", "batch"),
    "PROGRESS": ("done", "total", "note"),
    "LOG": ("level", "logger", "message", "fields"),
    "CANCEL": ("reason",),
    "CREDIT": ("items", "bytes"),
}


def load(name: str) -> dict[str, Any]:
    return json.loads((PROTOCOL / name).read_text())


def value(noted: Any) -> Any:
    if isinstance(noted, list):
        return [value(item) for item in noted]
    if not isinstance(noted, dict):
        return noted
    if len(noted) == 1:
        (key, inside), *_ = noted.items()
        if key == "$int":
            return int(inside)
        if key == "$float":
            return float(inside)
        if key == "$bytes":
            return bytes.fromhex(inside)
        if key == "$timestamp":
            return EPOCH + dt.timedelta(
                seconds=inside[0], microseconds=(inside[1] + 500) // 1000
            )  # as msgspec rounds
    return {key: value(item) for key, item in noted.items()}


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types: 1 is not 1.0, NaN is NaN, -0.0 is not 0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return left == right
