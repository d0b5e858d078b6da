"""What is measured: the cases, how much of each, by whom, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import model
from roster import (
    DEADPOOL,
    FUTURES,
    NODE,
    NODE_ALLOC,
    NODE_MANY,
    PIPE,
    PORT,
    PYTHON,
    PYTHON_ALLOC,
    QUEUE,
    TO_NODE,
    TO_PYTHON,
    UNTOUCHED,
    VIEW,
    Peer,
)

MIB = 1 << 20
MAX_CALLS = 500
WAITS = {"4 × 1": (4, 1), "4 × 16": (4, 16), "1 × 64": (1, 64)}
# Who may be killed: only workers that were given a call, or those that are still starting as well.
VICTIMS = {"working": "that was given a call", "any": "of any age, starting ones included"}
OURS = (PYTHON, NODE, TO_NODE, TO_PYTHON)
# A call for each of so many items is cheapest in chunks of so many.
SMALL_ITEMS, BLOCKS = {"bytes": 0, "chunk": 64}, {"bytes": 64 << 10, "chunk": 8}
STREAMING = (
    *OURS,
    *("ProcessPoolExecutor", "multiprocessing.Pool", "loky", "pebble", "mpire", "joblib", "Ray", QUEUE, PIPE),
    *("workerpool (processes)", "workerpool (threads)", "jest-worker", "child_process.fork", PORT),
)


@dataclass(frozen=True)
class Run:
    """What each of some peers does once a repetition; `kind` is what hosts know it by."""

    name: str
    kind: str
    given: dict[str, Any]
    limit_s: float
    measures: Callable[[Peer], bool]


@dataclass(frozen=True)
class Column:
    metric: str
    head: str
    form: str = ""
    per: float = 1
    of: str = ""  # the metric of the whole that it is a part of


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    about: str
    runs: Callable[[bool], list[Run]]  # of a quick run, or of a full one
    columns: list[Column] = field(default_factory=list)
    judged: str = ""
    better: Literal["low", "high"] = "low"
    # Peers that do something else there, and are no measure.
    apart: tuple[str, ...] = ()
    repetitions: int = 9


def _plain(peer: Peer) -> bool:
    """Each pool once."""
    if peer.name in (QUEUE, PIPE, PORT):
        return False
    return peer.kind != "ganger" or peer.name in OURS


def _alone(peer: Peer) -> bool:
    return _plain(peer) or peer.name == FUTURES


def _windowed(peer: Peer) -> bool:
    return _plain(peer) or peer.name == NODE_MANY


def _bytes(peer: Peer) -> bool:
    return _plain(peer) or peer.name in (VIEW, PYTHON_ALLOC, NODE_ALLOC)


def _processes(peer: Peer) -> bool:
    return _plain(peer) and peer.kind != "threads"


def _latency(quick: bool) -> list[Run]:
    given = {"workers": 1, "seconds": 0.3 if quick else 0.8, "calls": 20_000}
    return [Run("latency", "latency", given, 60, _alone)]


def _throughput(quick: bool) -> list[Run]:
    given = {"workers": 2, "window": 64, "seconds": 0.4 if quick else 1.2}
    return [Run("throughput", "throughput", given, 60, _windowed)]


def _mib(quick: bool) -> list[Run]:
    given = {"workers": 2, "bytes": MIB, "window": 8, "seconds": 0.2 if quick else 0.4}
    return [Run("1 MiB", "echo", given, 60, _bytes)]


def _large(quick: bool) -> list[Run]:
    given = {"workers": 1, "bytes": 64 * MIB, "window": 0, "seconds": 0.4 if quick else 1.0}
    return [Run("64 MiB", "echo", given, 90, _bytes)]


def _streams(quick: bool) -> list[Run]:
    seconds = 0.4 if quick else 1.2
    return [
        Run(
            name,
            "streams",
            {"workers": 1, "seconds": seconds, **given},
            60,
            lambda peer: peer.name in STREAMING,
        )
        for name, given in (("small items", SMALL_ITEMS), ("64 KiB items", BLOCKS))
    ]


def _crash(quick: bool) -> list[Run]:
    given = {"kills": 2 if quick else 5, "limit_s": 2 if quick else 5}
    limit_s = 20 if quick else 60
    return [
        Run(f"crash {name}", "crash", {"workers": workers, **given}, limit_s, _processes)
        for name, workers in (("spare", 2), ("alone", 1))
    ]


def _waits(quick: bool) -> list[Run]:
    return [
        Run(
            f"waits {name}",
            "waits",
            {"workers": workers, "concurrency": concurrency, "calls": 64, "ms": 50 if quick else 200},
            60,
            lambda peer: peer.name in OURS,
        )
        for name, (workers, concurrency) in WAITS.items()
    ]


def _chaos(quick: bool) -> list[Run]:
    seconds = 2 if quick else 6
    load = {"workers": 4, "seconds": seconds, "every_ms": 30, "bytes": 300_000, "window": 16, "settle_s": 15}
    stormed = (PYTHON, DEADPOOL, TO_PYTHON, NODE)
    return [
        Run(f"chaos {victims}", "chaos", {**load, "victims": victims}, 80, lambda peer: peer.name in stormed)
        for victims in VICTIMS
    ]


def recycling_seconds(quick: bool) -> float:
    return 4 if quick else 14


def _recycling(quick: bool) -> list[Run]:
    given = {"max_calls": MAX_CALLS, "seconds": recycling_seconds(quick), "ms": 1}
    recycled = (PYTHON, "multiprocessing.Pool", "ProcessPoolExecutor", UNTOUCHED)
    return [Run("recycling", "recycling", given, 80, lambda peer: peer.name in recycled)]


_ECHO = [
    Column("p50", "one in flight, p50 ms", "{:,.3g}"),
    Column("growth", "memory beyond the caller's buffer, MiB", "{:,.0f}", MIB),
]
_AFTER_KILL = [
    Column("next", "to the next result, median ms", "{:,.1f}"),
    Column("slowest", "slowest, ms", "{:,.0f}"),
    Column("lost", "calls that failed or hung, per kill", "{:.1f}"),
    Column("recovered", "kills after which there was one", "{:.0f}", of="kills"),
    Column("start", "start of a new worker, ms", "{:,.0f}"),
]

CASES = [
    Case(
        "latency",
        "A call that does nothing, one in flight",
        "One worker. The floors are ping-pongs over a socket pair between two plain processes that block, "
        "or with a host in tokio. "
        "The first result counts from the making of the pool, with the start of its worker.",
        _latency,
        [
            Column("p50", "p50 µs"),
            Column("p99", "p99 µs"),
            Column("cpu", "CPU s per 100 000 calls", "{:.2f}"),
            Column("first", "first result, ms", "{:,.0f}"),
        ],
        "p50",
    ),
    Case(
        "throughput",
        "Calls that do nothing, 64 in flight",
        "Two workers. CPU is that of the app and of everything that it started. joblib takes a list of calls "
        "and groups small ones itself, so its rate is no measure of single calls.",
        _throughput,
        [Column("rate", "calls/s", "{:,.0f}"), Column("cpu", "CPU s per 100 000 calls", "{:.2f}")],
        "rate",
        "high",
        ("joblib",),
    ),
    Case(
        "mib",
        "1 MiB there and back",
        "Bytes that the worker returns as they came, two workers: 8 in flight, and one. `memoryview` is "
        "a function that asks for one; `alloc` is a block that was filled in place beforehand.",
        _mib,
        [Column("rate", "8 in flight, calls/s", "{:,.0f}"), *_ECHO],
        "rate",
        "high",
    ),
    Case(
        "large",
        "64 MiB there and back",
        "The same with one worker and one in flight. Memory is the growth of the PSS of the app and its "
        "processes while they do so for the first times.",
        _large,
        _ECHO,
        "p50",
        repetitions=2,
    ),
    Case(
        "streams",
        "A function that gives many items",
        "One worker. Those of Ganger, Ray, workerpool, jest-worker and of bare processes and threads send "
        "items as they come to be. All other pools have no such functions: a call for each item, in chunks "
        f"of {SMALL_ITEMS['chunk']} small ones or {BLOCKS['chunk']} of 64 KiB, is the best that they can do. "
        "Only with Ganger, Ray, the queue, the pipe and fork does a slow reader hold the worker back. "
        "joblib has two workers.",
        _streams,
        [
            Column("rate", "items/s", "{:,.0f}"),
            Column("megabytes", "MB/s", "{:,.0f}"),
            Column("cpu", "CPU s per 100 000 items", "{:.2f}"),
        ],
        "rate",
        "high",
        ("joblib",),
    ),
    Case(
        "crash",
        "An idle worker is killed, and the next call is made at once",
        "SIGKILL, with a second worker that is ready, and with none. A call that fails, or is not answered "
        "within a second, is made again; the time counts from the kill to the first result. joblib always "
        "has a second worker.",
        _crash,
        _AFTER_KILL,
        "next",
        apart=("joblib",),
        repetitions=1,
    ),
    Case(
        "waits",
        "64 calls that wait, by workers × concurrency",
        "0.2 s each, or 0.05 s in a quick run.",
        _waits,
        repetitions=1,
    ),
    Case(
        "chaos",
        "A worker is killed every 30 ms",
        "Four workers echo 300 kB, 16 in flight.",
        _chaos,
        repetitions=1,
    ),
    Case(
        "recycling",
        f"A worker that takes {model.LOAD_S:.0f} s to load is replaced every {MAX_CALLS} calls",
        "One worker, one caller; a call takes 1 ms in the worker.",
        _recycling,
        repetitions=1,
    ),
]
