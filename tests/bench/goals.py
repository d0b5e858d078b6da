"""What Ganger aims at, and what this run says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cases import CASES, MIB
from roster import NODE, NODE_ALLOC, NODE_MANY, PYTHON, PYTHON_ALLOC, VIEW
from tables import Figures, Table, table

CASE = {case.name: case for case in CASES}


# Over the best process pool of the language: case, run, pool of ours, how many times better, what it is.
OVER_BEST = [
    ("latency", "latency", PYTHON, 3, "Python no-op, one in flight"),
    ("throughput", "throughput", PYTHON, 2, "Python no-ops a second"),
    ("latency", "latency", NODE, 1.5, "Node no-op, one in flight"),
    ("throughput", "throughput", NODE, 2, "Node no-ops a second"),
    ("throughput", "throughput", NODE_MANY, 2, "Node no-ops a second, 32 at once a worker"),
    ("large", "64 MiB", PYTHON, 8, "Python 64 MiB there and back"),
    ("large", "64 MiB", PYTHON_ALLOC, 50, "Python 64 MiB in place"),
    ("large", "64 MiB", NODE, 8, "Node 64 MiB there and back"),
    ("large", "64 MiB", NODE_ALLOC, 50, "Node 64 MiB in place"),
    ("mib", "1 MiB", PYTHON, 4, "Python 1 MiB there and back a second"),
    ("mib", "1 MiB", NODE, 4, "Node 1 MiB there and back a second"),
]


@dataclass(frozen=True)
class Goal:
    what: str
    measured: float | None
    aim: float
    at_most: bool = False
    beside: str = ""

    def row(self, measured: float) -> list[str]:
        met = measured <= self.aim if self.at_most else measured >= self.aim
        sign = "≤" if self.at_most else "≥"
        return [
            self.what,
            f"{sign} {self.aim:g}",
            f"{measured:.3g}{self.beside}",
            "met" if met else "**missed**",
        ]


def report(figures: Figures) -> Table:
    """Only what was measured; nothing if that is nothing."""
    rows = [goal.row(goal.measured) for goal in _goals(figures) if goal.measured is not None]
    return table(["aim", "×", "measured", ""], rows) if rows else []


def _goals(figures: Figures) -> Iterator[Goal]:
    floor, mine = (figures.median("latency", name, "p50") for name in ("floor Tokio→Python", PYTHON))
    yield Goal(
        "Python no-op, one in flight, ÷ the floor of a tokio host and a blocking Python child",
        _over(mine, floor),
        2.5,
        at_most=True,
    )
    for case, run, name, aim, what in OVER_BEST:
        yield _over_best(figures, case, run, name, aim, f"{what}, over the best process pool")
    rate, threads = (figures.median("throughput", name, "rate") for name in (NODE, "piscina (threads)"))
    yield Goal("Node no-ops a second over piscina's threads", _over(rate, threads), 1)
    for name in (PYTHON, VIEW, PYTHON_ALLOC, NODE, NODE_ALLOC):
        growth = figures.median("64 MiB", name, "growth")
        yield Goal(f"{name}: memory ÷ payload, 64 MiB", _over(growth, 64.0 * MIB), 2, at_most=True)
    for name in (PYTHON, NODE, NODE_MANY):
        yield _cpu(figures, name)
    for name in (PYTHON, NODE):
        yield _after_kill(figures, name)


def _over(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _over_best(figures: Figures, case: str, run: str, name: str, aim: float, what: str) -> Goal:
    language = "python" if name.startswith(PYTHON) else "node"
    best = figures.best_pool(CASE[case], run, language)
    mine = figures.median(run, name, CASE[case].judged)
    if best is None or not mine:
        return Goal(what, None, aim)
    times = best[1] / mine if CASE[case].better == "low" else mine / best[1]
    return Goal(what, times, aim, beside=f" ({best[0]})")


def _cpu(figures: Figures, name: str) -> Goal:
    """Beside the peers that went on after every kill of this run."""

    language = "python" if name == PYTHON else "node"
    rivals = [
        peer for peer in figures.peers("throughput") if peer.language == language and peer.kind == "pool"
    ]
    found = [
        (value, peer.name)
        for peer in rivals
        if figures.median("crash alone", peer.name, "kills")
        and figures.survives("crash alone", peer.name)
        and peer.name not in CASE["throughput"].apart
        and (value := figures.median("throughput", peer.name, "cpu"))
    ]
    mine = figures.median("throughput", name, "cpu")
    what = f"{name}: CPU of the thriftiest pool that survives a kill ÷ ours"
    return Goal(
        what,
        min(found)[0] / mine if found and mine else None,
        1,
        beside=f" ({min(found)[1]})" if found else "",
    )


def _after_kill(figures: Figures, name: str) -> Goal:
    after, start = (figures.median("crash alone", name, each) for each in ("next", "start"))
    beyond = after - start if after is not None and start is not None else None
    return Goal(
        f"{name}: ms from a kill to the next result beyond the start of a worker", beyond, 10, at_most=True
    )
