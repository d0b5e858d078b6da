"""Markdown tables of figures: medians over the repetitions, ratios beside them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from measure import Figure

Table = list[str]


class Figures:
    """Looks figures up."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self._found: dict[tuple[str, str, str], list[float]] = {}
        for figure in figures:
            self._found.setdefault((figure.case, figure.peer, figure.metric), []).append(figure.value)

    def median(self, case: str, peer: str, metric: str) -> float | None:
        found = self._found.get((case, peer, metric))
        return statistics.median(found) if found else None

    def spread(self, case: str, peer: str, metric: str) -> float | None:
        """The largest divided by the smallest."""
        found = self._found.get((case, peer, metric))
        return max(found) / min(found) if found and min(found) > 0 else None

    def fault(self, case: str, peer: str) -> str | None:
        faults = [metric for metric in ("hang", "died") if (case, peer, metric) in self._found]
        return " and ".join(faults) or None


def latency(figures: Figures, ours: dict[str, str], peers: list[str]) -> Table:
    """`ours` names, for each peer, the pool of ours in the same languages."""

    def row(peer: str) -> list[str]:
        p50 = figures.median("latency", peer, "p50")
        floor = (
            figures.median("latency", f"floor {peer.split()[-1]}", "p50")
            if peer.startswith("ganger")
            else None
        )
        mine = figures.median("latency", ours.get(peer, ""), "p50")
        return [
            peer,
            figures.fault("latency", peer) or _number(p50),
            _number(figures.median("latency", peer, "p99")),
            _number(figures.spread("latency", peer, "p50"), "{:.2f}"),
            _ratio(p50, floor),
            _ratio(p50, mine),
        ]

    heads = ["peer", "p50 µs", "p99 µs", "p50 largest/smallest", "p50 ÷ floor's", "p50 ÷ Ganger's"]
    return _table(heads, map(row, peers))


def throughput(figures: Figures, ours: dict[str, str], peers: list[str]) -> Table:
    def row(peer: str) -> list[str]:
        rate = figures.median("throughput", peer, "rate")
        mine = figures.median("throughput", ours.get(peer, ""), "rate")
        return [
            peer,
            figures.fault("throughput", peer) or _number(rate),
            _number(figures.spread("throughput", peer, "rate"), "{:.2f}"),
            _ratio(mine, rate),
        ]

    return _table(["peer", "calls/s", "largest/smallest", "Ganger's ÷ peer's"], map(row, peers))


def waits(figures: Figures, settings: list[str], peers: list[str]) -> Table:
    def row(peer: str) -> list[str]:
        return [
            peer,
            *(_number(figures.median(f"waits {each}", peer, "total"), "{:.2f}") for each in settings),
        ]

    return _table(["pool", *(f"{each}, s" for each in settings)], map(row, peers))


def chaos(figures: Figures, case: str, peers: list[str], rival: str) -> Table:
    def value(peer: str, metric: str, show: Callable[[float], str] = lambda value: f"{value:,.0f}") -> str:
        found = figures.median(case, peer, metric)
        return "–" if found is None else show(found)

    def row(peer: str) -> list[str]:
        fault = figures.fault(case, peer)
        mine, theirs = (figures.median(case, name, "completed") for name in (peer, rival))
        return [
            peer,
            value(peer, "completed"),
            _ratio(mine, theirs),
            value(peer, "lost"),
            value(peer, "unnamed"),
            value(peer, "refused"),
            value(peer, "unsettled"),
            value(peer, "failure_delay", lambda ms: f"{ms:.1f}"),
            value(peer, "killed"),
            fault or value(peer, "recovery", lambda seconds: f"{seconds:.2f}"),
        ]

    heads = [
        "peer",
        "completed, calls",
        f"÷ {rival}'s",
        "lost, calls",
        "of them without pid and signal",
        "refused, calls",
        "never settled, calls",
        "death to failure, median ms",
        "killed, workers",
        "usable again after, s",
    ]
    return _table(heads, map(row, peers))


def recycling(figures: Figures, peers: list[str], calm: str) -> Table:
    """`calm` is the pool of ours that replaces nobody."""

    def row(peer: str) -> list[str]:
        p99 = figures.median("recycling", peer, "p99")
        return [
            peer,
            figures.fault("recycling", peer)
            or _number(figures.median("recycling", peer, "replaced"), "{:.0f}"),
            *(
                _number(figures.median("recycling", peer, metric), "{:,.1f}")
                for metric in ("p50", "p99", "p999", "slowest")
            ),
            _ratio(p99, figures.median("recycling", calm, "p99")),
        ]

    heads = ["peer", "replaced, workers", "p50 ms", "p99 ms", "p99.9 ms", "slowest ms", f"p99 ÷ {calm}'s"]
    return _table(heads, map(row, peers))


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one and other else "–"


def _number(value: float | None, form: str = "") -> str:
    if value is None:
        return "–"
    return form.format(value) if form else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _table(heads: list[str], rows: Iterable[list[str]]) -> Table:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
