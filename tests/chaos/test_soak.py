"""Many calls, of which some hang, crash or are cancelled: each ends once and as it must; nothing grows."""

from __future__ import annotations

import random
from collections import Counter, deque
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from ganger import Pool

import lookout

CALLS = 100_000 if lookout.LONG else 4_000
WINDOW = 200
# Of a thousand calls.
HANG, SPIN, CRASH, CANCEL = 8, 2, 10, 50


@pytest.mark.parametrize("kind", lookout.OWN_KIND)
def test_every_call_of_a_long_run_ends_once_and_as_it_must(kind: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    options = {"workers": 2, "cancel_grace": "50ms", "env": {"MARKS": str(marks)}}
    with Pool(**lookout.KINDS[kind], **options) as pool:
        soak = Soak(pool, lookout.dice())
        soak.run()
        print(dict(soak.of_deeds), "MiB grown:", soak.grown() >> 20)
        soak.assert_all_is_well(lookout.starts(marks))
        lookout.assert_added_up(pool, soak.ends)


class Soak:
    def __init__(self, pool: Pool, dice: random.Random) -> None:
        self.pool, self.dice = pool, dice
        self.pending: deque[tuple[int, str, Future[Any]]] = deque()
        self.settled = lookout.Ends()
        self.ends: Counter[str] = Counter()
        self.of_deeds: Counter[tuple[str, str]] = Counter()
        self.answered: list[str] = []
        self.warm_bytes = 0

    def run(self) -> None:
        for number in range(CALLS):
            self.submit(number)
            if len(self.pending) == WINDOW:
                self.take_oldest()
            if number == CALLS // 4:
                self.warm_bytes = lookout.resident()
        while self.pending:
            self.take_oldest()

    def submit(self, number: int) -> None:
        chance = self.dice.randrange(1000)
        mark = {"mark": f"m{number}"}
        deed, options = "echo", {}
        if chance < HANG:
            deed, options = "hang", {"timeout": 0.05}
        elif chance < HANG + SPIN:
            deed, options = "spin", {"timeout": 0.05}
        elif chance < HANG + SPIN + CRASH:
            deed = "crash"
        future = self.pool.submit(deed, mark, **options)
        self.settled.watch(number, future)
        if deed == "echo" and self.dice.randrange(1000) < CANCEL:
            deed = "cancelled"
            if self.dice.random() < 0.5:
                future.cancel()
            elif self.pending:
                # Somewhere on its way.
                self.pool.stats()
                future.cancel()
        self.pending.append((number, deed, future))

    def take_oldest(self) -> None:
        number, deed, future = self.pending.popleft()
        how = lookout.end(future)
        self.ends[how] += 1
        self.of_deeds[deed, how] += 1
        if how == "ok":
            assert future.result() == f"m{number}"
            self.answered.append(f"m{number}")

    def assert_all_is_well(self, starts: Counter[str]) -> None:
        expected = {"echo": {"ok"}, "hang": {"TIMEOUT"}, "spin": {"TIMEOUT"}, "crash": {"WORKER_CRASHED"}}
        wrong = {
            (deed, how): count
            for (deed, how), count in self.of_deeds.items()
            if how not in expected.get(deed, {"ok", "CANCELLED"})
        }
        assert not wrong, f"{wrong} of {self.of_deeds}"
        assert self.settled.all_once(CALLS), "a call was settled twice or never"
        twice = [mark for mark, count in starts.items() if count > 1]
        assert not twice, f"started more than once: {twice[:5]}"
        assert all(starts[mark] == 1 for mark in self.answered)
        assert self.grown() < self.warm_bytes / 4 + (16 << 20), f"more than {self.warm_bytes >> 20} MiB"

    def grown(self) -> int:
        """Bytes of memory that this process has taken since the first quarter."""
        return lookout.resident() - self.warm_bytes
