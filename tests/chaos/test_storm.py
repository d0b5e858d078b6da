"""Workers are killed and stopped at random while calls run, wait, time out and are cancelled."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ganger import Pool

import lookout

SECONDS = 60.0 if lookout.LONG else 2.0
# Of a storm that is one; a machine that starts workers slowly has longer storms.
FEWEST_BLOWS = 5
CALLERS = 6
RETRIES = 2
# Anything but a hang or a lie.
HONEST = {
    "ok",
    "CANCELLED",
    "DEADLINE_EXCEEDED",
    "QUEUE_TIMEOUT",
    "START_FAILED",
    "TIMEOUT",
    "WORKER_CRASHED",
}


@pytest.mark.parametrize("kind", lookout.OWN_KIND)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_kills_and_stops_at_random(kind: str, concurrency: int, tmp_path: Path) -> None:
    dice = lookout.dice()
    marks = tmp_path / "marks"
    options: dict[str, Any] = {
        "workers": 3,
        "concurrency": concurrency,
        "cancel_grace": "100ms",
        "health_interval": "200ms",
        "health_timeout": "500ms",
        "start_timeout": "20s",
        "env": {"MARKS": str(marks)},
    }
    with Pool(**lookout.KINDS[kind], **options) as pool:
        storm = Storm(pool, SECONDS)
        storm.rage(dice)
        assert set(storm.ends) <= HONEST, storm.ends
        assert storm.ends["ok"] > 0
        assert storm.blows >= FEWEST_BLOWS
        starts = lookout.starts(marks)
        too_often = {
            mark: count for mark, count in starts.items() if count > (RETRIES + 1 if mark[0] == "i" else 1)
        }
        assert not too_often, f"started too often: {too_often}"
        lookout.eventually(storm.probe, "the pool serves on")
        lookout.assert_added_up(pool, storm.ends)


class Storm:
    def __init__(self, pool: Pool, seconds: float) -> None:
        self.pool, self.until = pool, time.monotonic() + seconds
        self.ends: Counter[str] = Counter()
        self.blows = 0
        self.give_up = time.monotonic() + lookout.LIMIT_S + seconds
        self.lock = threading.Lock()

    def over(self) -> bool:
        now = time.monotonic()
        return now > self.give_up or (now > self.until and self.blows >= FEWEST_BLOWS)

    def rage(self, dice: random.Random) -> None:
        callers = [
            threading.Thread(target=self.call, args=(caller, random.Random(dice.random())))
            for caller in range(CALLERS)
        ]
        for thread in callers:
            thread.start()
        while not self.over():
            time.sleep(dice.uniform(0.02, 0.15))
            pids = lookout.ready_pids(self.pool)
            if pids:
                blow = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
                self.blows += lookout.signal_one(dice.choice(pids), blow)
        for thread in callers:
            thread.join(lookout.LIMIT_S)
            assert not thread.is_alive(), "a call was never settled"

    def probe(self) -> bool:
        # A worker that has just been stopped may be given it, and a busy one is not asked whether it lives:
        # the call's own clock finds out.
        how = lookout.end(self.pool.submit("size", "abc", timeout=5))
        self.ends[how] += 1
        return how == "ok"

    def call(self, caller: int, dice: random.Random) -> None:
        number = 0
        while not self.over():
            number += 1
            idempotent = dice.random() < 0.5
            mark = f"{'i' if idempotent else 'o'}{caller}.{number}"
            options: dict[str, Any] = {"timeout": 1.0, "idempotent": idempotent, "retries": RETRIES}
            if dice.random() < 0.2:
                options["deadline"] = 1.5
            if dice.random() < 0.2:
                options["queue_timeout"] = 0.5
            future = self.pool.submit("work", {"mark": mark, "seconds": dice.uniform(0, 0.03)}, **options)
            if dice.random() < 0.1:
                time.sleep(dice.uniform(0, 0.03))
                future.cancel()
            how = lookout.end(future)
            with self.lock:
                self.ends[how] += 1
            if how == "START_FAILED":
                # An app that is refused does not ask again at once.
                time.sleep(0.05)
