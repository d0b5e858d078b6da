"""Measures Ganger beside its peers, in one run: ``run.py [--quick] [--only CASE …] [--peers a,b]``

Peers take turns inside each repetition, so that a busy minute hits all of them. Prints Markdown and leaves
it with the charts and every figure in .cache/bench. A full run of every case writes docs/performance.md and
its charts as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import install
import machine
import report
from cases import CASES, Case
from measure import Bench
from roster import PEERS, Peer, chosen

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"
CASE_NAMES = [case.name for case in CASES]
FLOORS = [
    ("tokio", "python"),
    ("tokio", "node"),
    ("python", "python"),
    ("node", "node"),
    ("python", "node"),
    ("node", "python"),
]


def main() -> None:
    options = _options()
    begin = time.monotonic()
    peers = chosen(options.peers, options.all_peers)
    bench = Bench(install.install(CACHE, peers), CACHE / "stderr.txt")
    facts = machine.facts(ROOT, peers)
    repetitions = options.repetitions or (1 if options.quick else 3)
    for repetition in range(repetitions):
        for case in CASES:
            if case.name in options.only and repetition < case.repetitions:
                _measure(bench, case, peers, repetition, options.quick)
    facts["repetitions"] = f"{repetitions}, {time.monotonic() - begin:.0f} s" + (
        ", a quick run" if options.quick else ""
    )
    left_out = [peer for peer in PEERS if peer not in peers]
    text = report.markdown(bench, facts, options.only, left_out)
    _write(bench, facts, text, options.only, CACHE, options.quick)
    if options.only == CASE_NAMES and not options.quick and not options.peers:
        (ROOT / "docs" / "performance.md").write_text(text)
        report.draw(bench, options.only, ROOT / "docs", quick=False)
    print(text)
    _fail_with_ours(bench)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run, for a first look")
    parser.add_argument("--repetitions", type=int, help="three, or one if quick; long cases have fewer")
    parser.add_argument("--only", choices=CASE_NAMES, nargs="+", default=CASE_NAMES, metavar="CASE")
    parser.add_argument(
        "--peers", type=_words, default=[], help="only peers whose names hold one of these words: a,b"
    )
    parser.add_argument(
        "--all-peers", action="store_true", help="those that take long as well: Ray, Dask, more threads"
    )
    return parser.parse_args()


def _words(text: str) -> list[str]:
    return text.split(",")


def _measure(bench: Bench, case: Case, peers: list[Peer], repetition: int, quick: bool) -> None:
    for host, child in FLOORS if case.name == "latency" else ():
        bench.floor("latency", host, child, 5000 if quick else 20_000, repetition)
    for run in case.runs(quick):
        for peer in peers:
            if run.measures(peer):
                begin = time.monotonic()
                bench.run(run, peer, repetition)
                took = f"{time.monotonic() - begin:.1f} s, load {os.getloadavg()[0]:.1f}"
                print(f"{run.name} {repetition + 1}: {peer.name} ({took})", file=sys.stderr, flush=True)


def _write(
    bench: Bench, facts: dict[str, str], text: str, cases: list[str], folder: Path, quick: bool
) -> None:
    (folder / "results.md").write_text(text)
    faults = [{"case": case, "peer": peer, "fault": fault} for (case, peer), fault in bench.faults.items()]
    found = {"machine": facts, "figures": bench.as_rows(), "faults": faults}
    (folder / "results.json").write_text(json.dumps(found, indent=1))
    report.draw(bench, cases, folder, quick)


def _fail_with_ours(bench: Bench) -> None:
    """A peer may hang or die; Ganger may not."""
    ours = {peer.name for peer in PEERS if peer.kind == "ganger"}
    faults = [f"{case}, {peer}: {fault}" for (case, peer), fault in bench.faults.items() if peer in ours]
    faults = [fault for fault in faults if "this build has no" not in fault]
    if faults:
        sys.exit("\n".join(["Ganger hung or died:", *faults]))


if __name__ == "__main__":
    main()
