"""What a process and everything that it started take of the machine: CPU time and memory. Linux only."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")
EVERY_S = 0.01


def family(root: int) -> list[int]:
    """A living process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        fields = _read(entry / "stat").rpartition(")")[2].split()
        if fields and fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_s(root: int) -> float | None:
    """CPU time of all threads that live now."""
    if not PROC.exists():
        return None
    threads = (each for pid in family(root) for each in Path(f"{PROC}/{pid}/task").glob("*/schedstat"))
    return sum(int((_read(each) or "0").split()[0]) for each in threads) / 1e9


def pss_bytes(pids: Iterable[int]) -> int:
    """Memory, of which a page that several processes share counts in parts."""
    total = 0
    for pid in pids:
        for line in _read(PROC / str(pid) / "smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


class MemoryWatch(threading.Thread):
    """Looks for the most memory that a family has."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._pids = family(root)
        self._over = threading.Event()
        self._first = self._most = pss_bytes(self._pids)
        self.start()

    def run(self) -> None:
        while not self._over.wait(EVERY_S):
            self._most = max(self._most, pss_bytes(self._pids))

    def growth(self) -> float | None:
        """Ends the watch: bytes beyond those of the beginning."""
        self._over.set()
        self.join()
        return self._most - self._first if self._first else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
