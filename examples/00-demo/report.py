"""What the Python app shows: a progress line, what happened to workers, and a closing table."""

from __future__ import annotations

import sys
import threading
import time
from functools import partial
from types import TracebackType
from typing import Any

from ganger import Pool

LANGUAGES = {"python": "Python", "node": "Node", "rust": "Rust"}
Row = list[str]


class Report:
    """Watches `pools`, named by language, until `calls` calls are done."""

    def __init__(self, pools: dict[str, Pool], title: str, calls: int) -> None:
        self._pools = pools
        self._title = title
        self._calls = calls
        self._began = time.monotonic()
        self._dead: list[tuple[str, int | None, int]] = []
        self._quarter = 0
        self._done = threading.Event()
        self._drawer = threading.Thread(target=self._keep_drawing, daemon=True)
        for language, pool in pools.items():
            pool.on("worker:exit", partial(self._died, language))
            pool.on(
                "call:retry", lambda retry: _say(f"{retry['fn']} was on worker {retry['pid']} and runs again")
            )

    def __enter__(self) -> None:
        print(f"{self._title}: {self._calls} calls to workers in three languages")
        self._drawer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Ends the progress line and prints what each worker did."""
        self._done.set()
        self._drawer.join()
        self._draw()
        if sys.stdout.isatty():
            print()
        stats = [pool.stats() for pool in self._pools.values()]
        _print_table(self._rows())
        print(
            f"  {sum(each['completed'] for each in stats)} calls completed,"
            f" {sum(each['failed'] for each in stats)} failed,"
            f" {sum(each['retried'] for each in stats)} ran again after"
            f" {sum(each['crashed'] for each in stats)} worker was killed,"
            f" in {time.monotonic() - self._began:.1f} s\n"
        )

    def _rows(self) -> list[Row]:
        rows = [["language", "pool", "worker", "calls", "memory", "pool p50"]]
        for language, pool in self._pools.items():
            stats = pool.stats()
            workers = [(pid, calls, "killed") for dead, pid, calls in self._dead if dead == language]
            for worker in stats["details"]:
                memory = worker["memory"]
                size = "–" if memory is None else f"{round(memory / 1e6)} MB"
                workers.append((worker["pid"], worker["calls"], size))
            median = f"{stats['run']['p50']:.1f} ms"
            for pid, calls, size in workers:
                rows.append([LANGUAGES[language], stats["pool"], f"pid {pid}", str(calls), size, median])
        return rows

    def _died(self, language: str, exit: Any) -> None:
        if exit["reason"] != "shutdown":
            self._dead.append((language, exit["pid"], exit["calls"]))
            name = LANGUAGES[language]
            _say(f"{name} worker {exit['pid']} was killed by {exit['signal']}; another one starts")

    def _keep_drawing(self) -> None:
        while not self._done.wait(0.04):
            self._draw()

    def _draw(self) -> None:
        stats = [pool.stats() for pool in self._pools.values()]
        done = sum(each["completed"] for each in stats)
        parts = ", ".join(f"{each['completed']} {each['pool']}" for each in stats)
        counts = f"{done:3} of {self._calls} calls: {parts}"
        if sys.stdout.isatty():
            filled = round(24 * done / self._calls)
            print(f"\r\x1b[K  {'█' * filled}{'░' * (24 - filled)} {counts}", end="", flush=True)
        elif 4 * done // self._calls > self._quarter:
            self._quarter = 4 * done // self._calls
            print(f"  {counts}", flush=True)


def _say(text: str) -> None:
    print(f"\r\x1b[K  {text}" if sys.stdout.isatty() else f"  {text}", flush=True)


def _print_table(rows: list[Row]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print()
    for row in rows:
        cells = [
            cell.ljust(width) if i < 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "   ".join(cells))
    print()
