"""The report of a run: Markdown with its tables, and the charts that it shows."""

from __future__ import annotations

from pathlib import Path

import bars
import chart
import goals
import model
import tables
from cases import CASES, MAX_CALLS, OURS, VICTIMS, WAITS, Case, recycling_seconds
from measure import Bench
from roster import DEADPOOL, PEERS, UNTOUCHED, Peer
from tables import Figures

# What is drawn, by the file's name: run, metric, title, form, and whether less is better.
DRAWN = {
    "latency": ("latency", "p50", "A call that does nothing, one in flight: median", "{:,.0f} µs", True),
    "throughput": (
        "throughput",
        "rate",
        "Calls that do nothing, 64 in flight, 2 workers",
        "{:,.0f} calls/s",
        False,
    ),
    "cpu": ("throughput", "cpu", "CPU of app and workers for 100 000 calls", "{:.2f} s", True),
    "large": ("64 MiB", "p50", "64 MiB there and back: median", "{:,.3g} ms", True),
}
# Of cases that are several runs.
WHICH = {
    "crash spare": ", with a spare worker",
    "crash alone": ", with none",
    "small items": ", small items",
    "64 KiB items": ", items of 64 KiB",
}
HOSTS = {"python": "From Python", "node": "From Node"}
HOW_TO_READ = """Every pool does the same work in the same run, in a process of its own, and they take turns:
the ratios hold better than the figures. The last column says how many times better Ganger is than a peer, or,
beside a pool of Ganger's, than the best process pool of its language, which is named; below 1 the peer wins.
What is in italics is no pool of processes, or does something else, and is left out of that comparison."""


def markdown(bench: Bench, facts: dict[str, str], cases: list[str], left_out: list[Peer]) -> str:
    figures = Figures(bench.figures, bench.faults)
    lines = ["# Ganger beside its peers", "", *(f"- {name}: {fact}" for name, fact in facts.items())]
    lines += ["", HOW_TO_READ]
    if left_out:
        lines += ["", "Not in this run: " + ", ".join(peer.name for peer in left_out) + "."]
    aims = goals.report(figures)
    lines += ["", "## What Ganger aims at", "", *aims] if aims else []
    for case in CASES:
        if case.name in cases:
            lines += ["", f"## {case.title}", *(["", case.about] if case.about else [])]
            lines += _tables(figures, case)
            lines += [f"\n![{DRAWN[case.name][2]}](bench-{case.name}.svg)"] if case.name in DRAWN else []
            lines += ["\n![CPU of each pool](bench-cpu.svg)"] if case.name == "throughput" else []
    return "\n".join(lines) + "\n"


def draw(bench: Bench, cases: list[str], folder: Path, quick: bool) -> None:
    """Every chart for which there are figures."""
    figures = Figures(bench.figures, bench.faults)
    for name, (run, metric, title, form, less) in DRAWN.items():
        groups = {}
        for language, head in HOSTS.items():
            found = [
                bars.Bar(peer.name, value, form.format(value), peer.kind == "ganger")
                for peer in figures.peers(run)
                if peer.language == language and (value := figures.median(run, peer.name, metric)) is not None
            ]
            if found:
                groups[head] = sorted(found, key=lambda bar: bar.value, reverse=not less)
        if groups:
            (folder / f"bench-{name}.svg").write_text(bars.draw(title, groups))
    if "recycling" in cases:
        title = (
            f"How long calls take while the worker is replaced every {MAX_CALLS} calls and takes 1 s to load"
        )
        drawn = [peer.name for peer in PEERS if peer.name != UNTOUCHED]
        panels = chart.panels(bench.figures, "recycling", drawn)
        (folder / "recycling.svg").write_text(
            chart.draw(title, panels, 1000 * model.LOAD_S / 2, recycling_seconds(quick))
        )


def _tables(figures: Figures, case: Case) -> list[str]:
    if case.name == "waits":
        return ["", *tables.waits(figures, list(WAITS), list(OURS))]
    if case.name == "recycling":
        return ["", *tables.recycling(figures, UNTOUCHED)]
    lines: list[str] = []
    for run in case.runs(False):
        if case.name == "chaos":
            which = VICTIMS[run.given["victims"]]
            lines += ["", f"Killed is a worker {which}.", "", *tables.chaos(figures, run.name, DEADPOOL)]
            continue
        for language, head in HOSTS.items():
            lines += [
                "",
                f"### {head}{WHICH.get(run.name, '')}",
                "",
                *tables.plain(figures, case, run.name, language),
            ]
    return lines
