"""Markdown tables of figures: medians over the repetitions, ratios beside them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping

from cases import Case, Column
from measure import Figure
from roster import PEERS, Peer

Table = list[str]
FLOOR = "floor "


class Figures:
    """Looks figures up."""

    def __init__(self, figures: Iterable[Figure], faults: Mapping[tuple[str, str], str]) -> None:
        self._found: dict[tuple[str, str, str], list[float]] = {}
        self._faults = faults
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
        return self._faults.get((case, peer))

    def peers(self, case: str) -> list[Peer]:
        """Those that have figures or faults, in the order of the roster."""
        named = {peer for found, peer, _ in self._found if found == case}
        named |= {peer for found, peer in self._faults if found == case}
        return [peer for peer in PEERS if peer.name in named]

    def floors(self, case: str) -> list[str]:
        return sorted({peer for found, peer, _ in self._found if found == case and peer.startswith(FLOOR)})

    def survives(self, run: str, peer: str) -> bool:
        """Whether it had a result after every kill; true if none was killed."""
        return self.median(run, peer, "kills") == self.median(run, peer, "recovered")

    def is_repeated(self, run: str) -> bool:
        return any(len(values) > 1 for (found, _, _), values in self._found.items() if found == run)

    def best_pool(self, case: Case, run: str, language: str) -> tuple[str, float] | None:
        """The process pool of a language that no other beats, ours aside."""
        found = [
            (value, peer.name)
            for peer in self.peers(run)
            if peer.kind == "pool" and peer.language == language and peer.name not in case.apart
            if self.survives(run, peer.name)
            and (value := self.median(run, peer.name, case.judged)) is not None
        ]
        if not found:
            return None
        value, name = min(found) if case.better == "low" else max(found)
        return name, value

    def gain(self, case: Case, run: str, peer: Peer) -> str:
        """How many times better ours is than a peer; beside one of ours, than the best pool."""
        mine = self.median(run, peer.name if peer.kind == "ganger" else peer.ours, case.judged)
        if peer.kind == "ganger":
            best = self.best_pool(case, run, peer.language)
            name, value = best or ("", None)
            times = ratio(case, mine, value)
            return f"{times} {name}" if best else times
        return ratio(case, mine, self.median(run, peer.name, case.judged))


def plain(figures: Figures, case: Case, run: str, language: str) -> Table:
    """The peers of one host language, ours first, then process pools, then what is no pool of processes."""
    columns = [column for column in case.columns if _is_measured(figures, run, column)]
    repeated = ["largest/smallest"] if figures.is_repeated(run) else []
    heads = ["pool", *(column.head for column in columns), *repeated, "Ganger is better by, ×"]

    def row(peer: Peer) -> list[str]:
        name = f"**{peer.name}**" if peer.kind == "ganger" else peer.name
        if peer.name in case.apart or peer.kind in ("bare", "threads"):
            name = f"*{peer.name}*"
        fault = figures.fault(run, peer.name)
        spread = [number(figures.spread(run, peer.name, case.judged), "{:.2f}") for _ in repeated]
        cells = [_cell(figures, run, peer.name, column) for column in columns]
        return [f"{name}: {fault}" if fault else name, *cells, *spread, figures.gain(case, run, peer)]

    order = {"ganger": 0, "pool": 1, "bare": 3, "threads": 4}
    peers = [peer for peer in figures.peers(run) if peer.language == language]
    peers.sort(key=lambda peer: 2 if peer.name in case.apart else order[peer.kind])
    hosts = (f"{FLOOR}{language.title()}→", f"{FLOOR}Tokio→{language.title()}")
    floors = [name for name in figures.floors(run) if name.startswith(hosts)]
    rows = [row(peer) for peer in peers] + [
        [f"*{name}*", *(_cell(figures, run, name, column) for column in columns), *[""] * (len(repeated) + 1)]
        for name in floors
    ]
    return table(heads, rows)


def waits(figures: Figures, settings: list[str], peers: list[str]) -> Table:
    def row(peer: str) -> list[str]:
        return [
            peer,
            *(number(figures.median(f"waits {each}", peer, "total"), "{:.2f}") for each in settings),
        ]

    return table(["pool", *(f"{each}, s" for each in settings)], map(row, peers))


def chaos(figures: Figures, case: str, rival: str) -> Table:
    def value(peer: str, metric: str, show: Callable[[float], str] = lambda value: f"{value:,.0f}") -> str:
        found = figures.median(case, peer, metric)
        return "–" if found is None else show(found)

    def row(peer: str) -> list[str]:
        mine, theirs = (figures.median(case, name, "completed") for name in (peer, rival))
        return [
            peer,
            value(peer, "completed"),
            f"{mine / theirs:.2f}" if mine and theirs else "–",
            value(peer, "lost"),
            value(peer, "unnamed"),
            value(peer, "refused"),
            value(peer, "unsettled"),
            value(peer, "failure_delay", lambda ms: f"{ms:.1f}"),
            value(peer, "killed"),
            figures.fault(case, peer) or value(peer, "recovery", lambda seconds: f"{seconds:.2f}"),
        ]

    heads = [
        "pool",
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
    return table(heads, (row(peer.name) for peer in figures.peers(case)))


def recycling(figures: Figures, calm: str) -> Table:
    """`calm` is the pool of ours that replaces nobody."""

    def row(peer: str) -> list[str]:
        p99, calm_p99 = (figures.median("recycling", name, "p99") for name in (peer, calm))
        replaced = number(figures.median("recycling", peer, "replaced"), "{:.0f}")
        return [
            peer,
            figures.fault("recycling", peer) or replaced,
            *(
                number(figures.median("recycling", peer, metric), "{:,.1f}")
                for metric in ("p50", "p99", "p999", "slowest")
            ),
            f"{p99 / calm_p99:.2f}" if p99 and calm_p99 else "–",
        ]

    heads = ["pool", "replaced, workers", "p50 ms", "p99 ms", "p99.9 ms", "slowest ms", f"p99 ÷ {calm}'s"]
    return table(heads, (row(peer.name) for peer in figures.peers("recycling")))


def ratio(case: Case, mine: float | None, theirs: float | None) -> str:
    if not mine or not theirs:
        return "–"
    times = theirs / mine if case.better == "low" else mine / theirs
    return f"{times:.2f}" if times < 10 else f"{times:,.0f}"


def number(value: float | None, form: str = "") -> str:
    if value is None:
        return "–"
    return form.format(value) if form else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table(heads: list[str], rows: Iterable[list[str]]) -> Table:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _cell(figures: Figures, run: str, peer: str, column: Column) -> str:
    value = figures.median(run, peer, column.metric)
    whole = figures.median(run, peer, column.of) if column.of else None
    text = number(None if value is None else value / column.per, column.form)
    return text if whole is None else f"{text} of {whole:.0f}"


def _is_measured(figures: Figures, run: str, column: Column) -> bool:
    return any(figures.median(run, peer.name, column.metric) is not None for peer in figures.peers(run))
