"""Runs one peer in one case in a process of its own, under a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from floor import ping_pong
from install import Peers

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Figure:
    """One measured number. A process that hangs or dies leaves one named `hang` or `died`."""

    case: str
    peer: str
    metric: str
    value: float
    unit: str
    count: int
    repetition: int


class Bench:
    """Collects figures."""

    def __init__(self, peers: Peers) -> None:
        self.figures: list[Figure] = []
        path = os.pathsep.join([str(HERE), str(peers.python)])
        self._env = {
            **os.environ,
            "PYTHONPATH": path,
            "BENCH_PEERS": str(peers.node),
            "BENCH_PYTHON": sys.executable,
        }

    def run(self, case: str, peer: str, given: dict[str, Any], repetition: int = 0, kind: str = "") -> None:
        """Measures `peer`; `case` names the figures, `kind` is what is done, if not the same."""
        parameters = {key: value for key, value in given.items() if key != "limit_s"}
        for line in self._lines(kind or case, peer, parameters, given["limit_s"]):
            self.figures.append(Figure(case=case, peer=peer, repetition=repetition, **line))

    def floor(self, case: str, host: str, child: str, calls: int, repetition: int) -> None:
        times = sorted(ping_pong(host, child, calls))
        peer = f"floor {host.title()}→{child.title()}"
        for metric, share in (("p50", 50), ("p99", 99)):
            value = times[len(times) * share // 100]
            self.figures.append(Figure(case, peer, metric, value, "µs", calls, repetition))

    def as_rows(self) -> list[dict[str, Any]]:
        return [asdict(figure) for figure in self.figures]

    def _lines(
        self, kind: str, peer: str, parameters: dict[str, Any], limit_s: float
    ) -> list[dict[str, Any]]:
        command = [*_program(kind, peer), json.dumps(parameters)]
        # A session of its own: when it hangs, its workers end with it.
        host = subprocess.Popen(
            command, env=self._env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        fault: list[dict[str, Any]] = []
        try:
            printed, _ = host.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(host.pid, signal.SIGKILL)
            printed, _ = host.communicate()
            fault = [{"metric": "hang", "value": limit_s, "unit": "s", "count": 1}]
        else:
            if host.returncode:
                fault = [{"metric": "died", "value": host.returncode, "unit": "exit code", "count": 1}]
        return [json.loads(line) for line in printed.splitlines() if line.startswith("{")] + fault


def _program(kind: str, peer: str) -> list[str]:
    if "Node→" in peer or "(processes)" in peer:
        return ["node", str(HERE / "hosts.mjs"), peer, kind]
    if kind in ("chaos", "recycling"):
        return [sys.executable, str(HERE / f"{kind}.py"), peer]
    return [sys.executable, str(HERE / "hosts.py"), peer, kind]
