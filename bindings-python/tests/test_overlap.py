"""How much runs at once: counted from when calls began and ended, by a clock that all processes share."""

from __future__ import annotations

import pytest

import support
from ganger import Pool

CALLS = 64


@pytest.mark.parametrize(
    ("workers", "concurrency", "least", "most"),
    [(4, 1, 4, 4), (4, 16, 33, 64), (1, 64, 33, 64), (1, 1, 1, 1)],
)
def test_as_much_runs_at_once_as_there_is_room_for(
    workers: int, concurrency: int, least: int, most: int
) -> None:
    seconds = 0.05 if workers * concurrency < CALLS else 0.5
    with Pool(python=support.BASICS, workers=workers, concurrency=concurrency) as pool:
        ready = [pool.submit("interval", 0.2) for _ in range(workers * concurrency)]
        for future in ready:
            future.result()
        calls = [pool.submit("interval", seconds) for _ in range(CALLS)]
        intervals = [(begun, ended) for begun, ended in (call.result() for call in calls)]
    assert least <= overlap(intervals) <= most


def overlap(intervals: list[tuple[float, float]]) -> int:
    """The most intervals that share a moment. One that begins as another ends does not share it."""
    steps = sorted([(begun, 1) for begun, _ in intervals] + [(ended, -1) for _, ended in intervals])
    running = most = 0
    for _, step in steps:
        running += step
        most = max(most, running)
    return most
