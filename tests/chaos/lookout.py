"""What the chaos tests share: chance to be had again, marks of what has started, a look around at the end."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

from ganger import GangerError, Pool

WORKERS = Path(__file__).resolve().parent / "workers"
KINDS: dict[str, dict[str, Any]] = {
    "python": {"python": WORKERS / "deeds.py"},
    "node": {"node": WORKERS / "deeds.mjs"},
}
# With none (0) or little (1MiB) of what large payloads share.
if memory := os.environ.get("GANGER_TEST_SHARED_MEMORY"):
    KINDS = {
        kind: {**options, "shared_memory": 0 if memory == "0" else memory} for kind, options in KINDS.items()
    }
# `make chaos` is patient, CI is not.
LONG = os.environ.get("GANGER_CHAOS") == "long"
# Workers of the other language are the other suite's part, unless there is time for all.
OWN_KIND = list(KINDS) if LONG else ["python"]
# For what should take no time. Machines may be slow; a hang is longer than this.
LIMIT_S = 60.0


def dice() -> random.Random:
    """Chance; the seed stands in the output of a test that fails."""
    seed = int(os.environ.get("GANGER_SEED") or int.from_bytes(os.urandom(4), "big"))
    print(f"play this again with GANGER_SEED={seed}")
    return random.Random(seed)


def eventually(condition: Callable[[], Any], what: str) -> Any:
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"never came true: {what}")


def end(future: Future[Any]) -> str:
    """How a call ended, in a word: `ok` or the code of its error."""
    try:
        future.result(LIMIT_S)
    except CancelledError:
        return "CANCELLED"
    except GangerError as error:
        return error.code
    return "ok"


class Ends:
    """Counts how calls end, and that none ends twice."""

    def __init__(self) -> None:
        self.settled: Counter[int] = Counter()

    def watch(self, number: int, future: Future[Any]) -> None:
        future.add_done_callback(lambda _: self.settled.update([number]))

    def all_once(self, count: int) -> bool:
        return len(self.settled) == count and set(self.settled.values()) == {1}


def starts(marks: Path) -> Counter[str]:
    """How often each mark was noted."""
    return Counter(marks.read_text().split()) if marks.exists() else Counter()


def assert_added_up(pool: Pool, ends: Mapping[str, int]) -> None:
    """The pool's own count is ours."""
    # A worker in grace keeps a call that is settled already.
    eventually(lambda: pool.stats()["running"] == 0, "nothing runs")
    stats = pool.stats()
    assert pool.calls() == []
    assert (stats["queued"], stats["queued_bytes"]) == (0, 0)
    submitted = sum(ends.values())
    assert stats["submitted"] == submitted
    # A future that is cancelled while its answer is on the way counts as what the answer was.
    late = ends.get("CANCELLED", 0) - stats["cancelled"]
    assert late >= 0
    assert ends.get("ok", 0) <= stats["completed"] <= ends.get("ok", 0) + late
    assert stats["completed"] + stats["failed"] + stats["cancelled"] == submitted
    for counted in ("submitted", "completed", "failed", "cancelled"):
        assert sum(function[counted] for function in stats["functions"]) == stats[counted]


def resident() -> int:
    """Bytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def ready_pids(pool: Pool) -> list[int]:
    return [worker["pid"] for worker in pool.stats()["details"] if worker["ready"] and worker["pid"]]


def signal_one(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def children() -> dict[int, str]:
    """Our child processes with what they execute, but for the one reaper that lives as long as we do."""
    found: dict[int, str] = {}
    for thread in Path("/proc/self/task").iterdir():
        try:
            pids = (thread / "children").read_text().split()
        except OSError:
            continue  # the thread has just ended
        for pid in pids:
            try:
                command = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
            except OSError:
                continue
            if "ganger-shim reap" not in command:
                found[int(pid)] = command
    return found


def descriptors() -> set[str]:
    kinds = ("socket:", "pipe:", "anon_inode:[pidfd]", "/memfd:")
    found: set[str] = set()
    for entry in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{entry}")
        except OSError:
            continue
        if target.startswith(kinds):
            found.add(target)
    return found
