"""Measures Ganger beside its peers, in one run: ``run.py [--quick] [--only CASE …]``

Peers take turns inside each repetition, so that a busy minute hits all of them. Prints Markdown and leaves
it with every figure in .cache/bench/results.{md,json}. The recycling case draws docs/recycling.svg, or
recycling.svg beside the results if it was quick.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import chart
import install
import machine
import model
import tables
from measure import Bench

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"

PYTHON, NODE = "ganger Python→Python", "ganger Node→Node"
CROSS = ["ganger Python→Node", "ganger Node→Python"]
RIVALS = {
    "ProcessPoolExecutor": PYTHON,
    "multiprocessing.Pool": PYTHON,
    "tinypool (processes)": NODE,
    "workerpool (processes)": NODE,
}
POOLS = [
    PYTHON,
    "ProcessPoolExecutor",
    "multiprocessing.Pool",
    NODE,
    "tinypool (processes)",
    "workerpool (processes)",
    *CROSS,
]
FLOORS = [("python", "python"), ("node", "node"), ("python", "node"), ("node", "python")]
# One in flight: a blocking call, and the same by a future as ProcessPoolExecutor has it.
ALONE = [PYTHON, "ganger futures Python→Python", *POOLS[1:]]
OURS = {**RIVALS, **{pool: pool for pool in (PYTHON, NODE, *CROSS)}, "ganger futures Python→Python": PYTHON}
WAITS = {"4 × 1": (4, 1), "4 × 16": (4, 16), "1 × 64": (1, 64)}
RIVAL = "deadpool-executor"
STORMED = [PYTHON, RIVAL, "ganger Node→Python", NODE]
# Who may be killed: only workers that were given a call, or those that are still starting as well.
VICTIMS = {"working": "that was given a call", "any": "of any age, starting ones included,"}
RECYCLED = [PYTHON, "multiprocessing.Pool", "ProcessPoolExecutor"]
UNTOUCHED = "ganger, never replaced"
MAX_CALLS = 500
CASES = ["latency", "throughput", "waits", "chaos", "recycling"]


def main() -> None:
    options = _options()
    quick: bool = options.quick
    bench = Bench(install.install(CACHE))
    facts = machine.facts(ROOT)
    for repetition in range(1 if quick else options.repetitions):
        if "latency" in options.only:
            _latency(bench, 300 if quick else 2000, repetition)
        if "throughput" in options.only:
            _throughput(bench, 1000 if quick else 4000, repetition)
    if "waits" in options.only:
        _waits(bench)
    if "chaos" in options.only:
        _chaos(bench, 2 if quick else 8)
    if "recycling" in options.only:
        seconds = 6 if quick else 14
        _recycling(bench, seconds)
        _draw_recycling(bench, seconds, CACHE if quick else ROOT / "docs")
    text = "\n".join(_report(bench, facts, options.only))
    (CACHE / "results.md").write_text(text + "\n")
    (CACHE / "results.json").write_text(json.dumps({"machine": facts, "figures": bench.as_rows()}, indent=1))
    print(text)
    faults = [
        figure for figure in bench.figures if figure.metric in ("hang", "died") and "ganger" in figure.peer
    ]
    if faults:
        sys.exit(f"{len(faults)} runs of Ganger hung or died: {faults}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run, for a first look")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", choices=CASES, nargs="+", default=CASES)
    return parser.parse_args()


def _latency(bench: Bench, calls: int, repetition: int) -> None:
    for host, child in FLOORS:
        bench.floor("latency", host, child, calls, repetition)
    for peer in ALONE:
        _say(f"latency {repetition + 1}: {peer}")
        bench.run(
            "latency", peer, {"workers": 1, "warmup": calls // 4, "calls": calls, "limit_s": 60}, repetition
        )


def _throughput(bench: Bench, calls: int, repetition: int) -> None:
    given = {"workers": 2, "warmup": calls // 4, "calls": calls, "batches": 5, "limit_s": 90}
    for peer in POOLS:
        _say(f"throughput {repetition + 1}: {peer}")
        bench.run("throughput", peer, given, repetition)


def _waits(bench: Bench) -> None:
    for name, (workers, concurrency) in WAITS.items():
        for peer in (PYTHON, NODE, *CROSS):
            _say(f"waits {name}: {peer}")
            given = {
                "workers": workers,
                "concurrency": concurrency,
                "warmup": 64,
                "calls": 64,
                "ms": 200,
                "limit_s": 60,
            }
            bench.run(f"waits {name}", peer, given, kind="waits")


def _chaos(bench: Bench, seconds: float) -> None:
    load = {"workers": 4, "seconds": seconds, "every_ms": 30, "bytes": 300_000, "window": 16, "settle_s": 15}
    for victims in VICTIMS:
        for peer in STORMED:
            _say(f"chaos, {victims} workers: {peer}")
            given: dict[str, Any] = {**load, "victims": victims, "limit_s": seconds + 60}
            if "Node→" in peer:
                given["warmup"] = 16
            bench.run(f"chaos {victims}", peer, given, kind="chaos")


def _recycling(bench: Bench, seconds: float) -> None:
    for peer in (*RECYCLED, UNTOUCHED):
        _say(f"recycling: {peer}")
        given = {"max_calls": MAX_CALLS, "seconds": seconds, "ms": 1, "limit_s": seconds + 60}
        bench.run("recycling", peer, given)


def _draw_recycling(bench: Bench, seconds: float, folder: Path) -> None:
    title = f"How long calls take while the worker is replaced every {MAX_CALLS} calls and takes 1 s to load"
    panels = chart.panels(bench.figures, "recycling", RECYCLED)
    (folder / "recycling.svg").write_text(chart.draw(title, panels, 1000 * model.LOAD_S / 2, seconds))


def _report(bench: Bench, facts: dict[str, str], cases: list[str]) -> list[str]:
    figures = tables.Figures(bench.figures)
    floors = [f"floor {host.title()}→{child.title()}" for host, child in FLOORS]
    lines = ["# Ganger beside its peers", "", *(f"- {name}: {fact}" for name, fact in facts.items())]
    if "latency" in cases:
        lines += ["", "## A call that does nothing, 1 worker, 1 in flight", ""]
        lines += ["The floor is a blocking ping-pong over a socket pair between two plain processes.", ""]
        lines += tables.latency(figures, OURS, [*ALONE, *floors])
    if "throughput" in cases:
        lines += ["", "## Calls that do nothing, 2 workers, 64 in flight", ""]
        lines += tables.throughput(figures, OURS, POOLS)
    if "waits" in cases:
        lines += ["", "## 64 calls that wait 0.2 s, by workers × concurrency", ""]
        lines += tables.waits(figures, list(WAITS), [PYTHON, NODE, *CROSS])
    for victims, which in VICTIMS.items() if "chaos" in cases else ():
        lines += [
            "",
            f"## Chaos: a worker {which} is killed every 30 ms; 4 workers echo 300 kB, 16 in flight",
            "",
        ]
        lines += tables.chaos(figures, f"chaos {victims}", STORMED, RIVAL)
    if "recycling" in cases:
        lines += [
            "",
            f"## A worker that takes {model.LOAD_S:.0f} s to load is replaced every {MAX_CALLS} calls",
            "",
        ]
        lines += ["One worker, one caller; a call takes 1 ms in the worker.", ""]
        lines += tables.recycling(figures, [*RECYCLED, UNTOUCHED], UNTOUCHED)
    return lines


def _say(text: str) -> None:
    print(f"{text}  (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
