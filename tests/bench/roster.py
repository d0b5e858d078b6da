"""Who is measured: the pools of ours, the peers, and which of them are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# pool: a process pool. bare: processes with no queue, limit or restart. threads: no process at all.
Kind = Literal["ganger", "pool", "bare", "threads"]


@dataclass(frozen=True)
class Peer:
    name: str
    language: Literal["python", "node"]  # of the host
    kind: Kind
    package: str = ""  # none: it belongs to the language
    # Takes so long to start or to install that it is measured only if asked for.
    heavy: bool = False

    @property
    def ours(self) -> str:
        """The pool of ours that does the same."""
        return PYTHON if self.language == "python" else NODE


PYTHON, NODE = "ganger Python→Python", "ganger Node→Node"
TO_NODE, TO_PYTHON = "ganger Python→Node", "ganger Node→Python"
FUTURES = "ganger Python→Python, futures"
VIEW, PYTHON_ALLOC, NODE_ALLOC = f"{PYTHON}, memoryview", f"{PYTHON}, alloc", f"{NODE}, alloc"
# As many calls at once as those peers hand over that do not wait for an answer.
NODE_MANY = f"{NODE}, 32 a worker"
DEADPOOL = "deadpool-executor"
UNTOUCHED = "ganger, never replaced"
# They only stream: a process, or a thread, that sends items.
QUEUE, PIPE, PORT = "multiprocessing.Queue", "multiprocessing.Pipe", "worker_threads"

PEERS = [
    Peer(PYTHON, "python", "ganger"),
    Peer(FUTURES, "python", "ganger"),
    Peer(VIEW, "python", "ganger"),
    Peer(PYTHON_ALLOC, "python", "ganger"),
    Peer(UNTOUCHED, "python", "ganger"),
    Peer(TO_NODE, "python", "ganger"),
    Peer("ProcessPoolExecutor", "python", "pool"),
    Peer("multiprocessing.Pool", "python", "pool"),
    Peer("loky", "python", "pool", "loky"),
    Peer("pebble", "python", "pool", "pebble"),
    Peer("mpire", "python", "pool", "mpire"),
    Peer(DEADPOOL, "python", "pool", "deadpool-executor"),
    Peer("joblib", "python", "pool", "joblib"),
    Peer(QUEUE, "python", "bare"),
    Peer(PIPE, "python", "bare"),
    Peer("Ray", "python", "pool", "ray", heavy=True),
    Peer("Dask", "python", "pool", "distributed", heavy=True),
    Peer(NODE, "node", "ganger"),
    Peer(NODE_ALLOC, "node", "ganger"),
    Peer(NODE_MANY, "node", "ganger"),
    Peer(TO_PYTHON, "node", "ganger"),
    Peer("tinypool (processes)", "node", "pool", "tinypool"),
    Peer("workerpool (processes)", "node", "pool", "workerpool"),
    Peer("jest-worker", "node", "pool", "jest-worker"),
    Peer("poolifier (cluster)", "node", "pool", "poolifier"),
    Peer("child_process.fork", "node", "bare"),
    Peer(PORT, "node", "threads"),
    Peer("piscina (threads)", "node", "threads", "piscina"),
    Peer("tinypool (threads)", "node", "threads", "tinypool", heavy=True),
    Peer("workerpool (threads)", "node", "threads", "workerpool", heavy=True),
    Peer("poolifier (threads)", "node", "threads", "poolifier", heavy=True),
]


def chosen(wanted: list[str], heavy: bool) -> list[Peer]:
    """Ours, and the peers whose names hold a wanted word; if none is wanted, all but the heavy ones."""

    def is_wanted(peer: Peer) -> bool:
        if peer.kind == "ganger":
            return True
        if wanted:
            return any(word.lower() in peer.name.lower() for word in wanted)
        return heavy or not peer.heavy

    return [peer for peer in PEERS if is_wanted(peer)]
