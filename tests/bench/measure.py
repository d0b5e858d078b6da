"""Runs one peer in one case in a process of its own, under a time limit, and answers what it asks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import processes
from cases import Run
from floor import ping_pong
from install import Installed
from roster import Peer

HERE = Path(__file__).resolve().parent
# How long a pool may take to close once all is measured.
CLOSING_S = 10


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    case: str
    peer: str
    metric: str
    value: float
    unit: str
    count: int
    repetition: int


class Bench:
    """Collects figures, and why there are none."""

    def __init__(self, installed: Installed, log: Path) -> None:
        self.figures: list[Figure] = []
        self.faults: dict[tuple[str, str], str] = {}
        self._installed = installed
        self._log = log
        self._env = {
            **os.environ,
            "PYTHONPATH": str(HERE),
            "BENCH_PEERS": str(installed.node),
            "BENCH_PYTHON": sys.executable,
            "RAY_USAGE_STATS_ENABLED": "0",
        }

    def run(self, run: Run, peer: Peer, repetition: int) -> None:
        missing = self._installed.missing.get(peer.package)
        if missing:
            self.faults[run.name, peer.name] = missing
            return
        with self._log.open("w") as log:
            conversation = Conversation(self._command(run, peer), run.limit_s, self._env, log)
            for line in conversation.figures:
                self.figures.append(Figure(case=run.name, peer=peer.name, repetition=repetition, **line))
        if conversation.fault:
            told = _last_line(self._log) if conversation.fault == "died" else ""
            self.faults[run.name, peer.name] = f"{conversation.fault}: {told}" if told else conversation.fault

    def floor(self, case: str, host: str, child: str, calls: int, repetition: int) -> None:
        times = sorted(ping_pong(host, child, calls))
        peer = f"floor {host.title()}→{child.title()}"
        for metric, share in (("p50", 50), ("p99", 99)):
            value = times[len(times) * share // 100]
            self.figures.append(Figure(case, peer, metric, value, "µs", calls, repetition))

    def as_rows(self) -> list[dict[str, Any]]:
        return [asdict(figure) for figure in self.figures]

    def _command(self, run: Run, peer: Peer) -> list[str]:
        if peer.language == "node":
            program = ["node", str(HERE / "hosts.mjs")]
        else:
            file = f"{run.kind}.py" if run.kind in ("chaos", "recycling") else "hosts.py"
            python = sys.executable if peer.kind == "ganger" else str(self._installed.python)
            program = [python, str(HERE / file)]
        return [*program, peer.name, run.kind, json.dumps(run.given)]


class Conversation:
    """What a host prints: figures, that all is measured, why nothing is, or a question.

    A question is answered in a line.
    """

    def __init__(self, command: list[str], limit_s: float, env: dict[str, str], log: TextIO) -> None:
        self.figures: list[dict[str, Any]] = []
        self.fault = ""
        self._measured = False
        self._watch: processes.MemoryWatch | None = None
        pipe = subprocess.PIPE
        # A session of its own: when it hangs, its workers end with it.
        self._host = subprocess.Popen(
            command, env=env, stdin=pipe, stdout=pipe, stderr=log, text=True, start_new_session=True
        )
        limit = threading.Timer(limit_s, self._give_up, [f"no end after {limit_s:g} s"])
        limit.daemon = True
        limit.start()
        assert self._host.stdout
        for line in self._host.stdout:
            if line.startswith("{"):
                self._hear(json.loads(line))
            if self._measured:
                break
        limit.cancel()
        self._end()

    def _hear(self, line: dict[str, Any]) -> None:
        if "ask" in line:
            assert self._host.stdin
            self._host.stdin.write(json.dumps(self._answer(line["ask"])) + "\n")
            self._host.stdin.flush()
        elif "skip" in line:
            self.fault = line["skip"]
        elif "done" in line:
            self._measured = True
        else:
            self.figures.append(line)

    def _answer(self, question: str) -> float | None:
        if question == "cpu":
            return processes.cpu_s(self._host.pid)
        if question == "watch":
            self._watch = processes.MemoryWatch(self._host.pid)
            return None
        return self._watch.growth() if self._watch else None

    def _end(self) -> None:
        """A pool that is slow to close, or leaves something behind, has nothing to say any more."""
        try:
            self._host.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            pass
        self._kill()
        self._host.wait()
        if not self._measured and not self.fault:
            self.fault = "died"

    def _give_up(self, fault: str) -> None:
        self.fault = fault
        self._kill()

    def _kill(self) -> None:
        try:
            os.killpg(self._host.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line] or lines
    return told[-1][:120].replace("|", "/") if told else ""
