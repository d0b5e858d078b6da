"""What several tests need: scripts run as apps of their own, processes looked at from outside, patience."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKERS = HERE / "workers"
BASICS = str(WORKERS / "basics.py")
# Both languages use these.
FAULTS = str(HERE.parents[1] / "tests" / "faults" / "workers" / "faults.py")
# For what should take no time. Machines may be slow; a hang is longer than this.
LIMIT_S = 30.0


def eventually(condition: Callable[[], Any], what: str = "condition") -> Any:
    """Polls until the condition holds, and returns what it returned."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"never came true: {what}")


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def children() -> dict[int, str]:
    """Our own child processes that run, zombies included, with what they execute."""
    found: dict[int, str] = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            pids = (task / "children").read_text().split()
        except OSError:
            continue  # The thread has ended.
        for pid in pids:
            found[int(pid)] = command_of(int(pid))
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def descriptors() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in os.listdir("/proc/self/fd"):
        try:
            found[entry] = os.readlink(f"/proc/self/fd/{entry}")
        except OSError:
            pass
    return found


class App:
    """A script that runs as a process of its own, in a process group of its own."""

    def __init__(self, script: str, *arguments: str, options: tuple[str, ...] = ()) -> None:
        code = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
        command = [sys.executable, *options, "-c", code, BASICS, *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(HERE.parent / "python")},
        )

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def interrupt(self) -> None:
        """As Ctrl-C does: everyone in the group of the terminal is told."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self) -> tuple[int, str, str]:
        """Exit code, the rest of stdout, stderr."""
        try:
            out, errors = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, errors = self.process.communicate()
            raise AssertionError(f"it did not end: {out}\n{errors}") from None
        return self.process.returncode, out, errors


PRELUDE = """
import asyncio, os, signal, sys, threading, time, warnings
import ganger
from ganger import Pool, ProcessPool
BASICS = sys.argv[1]
def say(*what): print(*what, flush=True)
"""


def run(script: str, *arguments: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    return App(script, *arguments, options=options).ended()
