"""Round trips of a call that does nothing against a raw blocking echo of the same size, in turns.

python bench/noop.py [rounds]; the numbers are microseconds a round trip: best and median of the rounds.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SDK = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SDK / "src"), str(SDK / "tests")]

from ganger_worker.protocol import Kind, frame  # noqa: E402
from host import Host, pack  # noqa: E402

CALLS = 3000
CODE = """
from ganger_worker import action
@action
def noop(): pass
@action
def typed(amount: float, currency: str = "EUR") -> float: return amount
@action
async def waits(): pass
"""


def echo_server() -> socket.socket:
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        view = memoryview(bytearray(65536))
        while count := theirs.recv_into(view):
            theirs.send(view[:count])
        os._exit(0)
    theirs.close()
    return ours


def round_trips(sock: socket.socket, frames: list[bytes]) -> float:
    view = memoryview(bytearray(65536))
    begin = time.perf_counter()
    for data in frames:
        sock.send(data)
        sock.recv_into(view)
    return (time.perf_counter() - begin) / len(frames) * 1e6


def calls(host: Host, name: str, payload: bytes) -> Callable[[], float]:
    body = pack([name, 1, None, 0, None])

    def run() -> float:
        frames = [frame(Kind.CALL, host.seq + i, body, payload, 1) for i in range(1, CALLS + 1)]
        host.seq += CALLS
        return round_trips(host.data, frames)

    return run


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "code.py"
        code.write_text(CODE)
        with Host.start(code) as one, Host.start(code, concurrency=4) as four:
            one.ready(), four.ready()
            one.data.settimeout(None), four.data.settimeout(None)
            raw = echo_server()
            size = len(frame(Kind.CALL, 1, pack(["noop", 1, None, 0, None]), b"\xc0"))
            typed = pack({"amount": 3})
            measured: dict[str, Callable[[], float]] = {
                "raw blocking echo": lambda: round_trips(raw, [b"x" * size] * CALLS),
                "noop, concurrency 1": calls(one, "noop", b"\xc0"),
                "typed map, concurrency 1": calls(one, "typed", typed),
                "async, concurrency 1": calls(one, "waits", b"\xc0"),
                "noop, concurrency 4": calls(four, "noop", b"\xc0"),
                "async, concurrency 4": calls(four, "waits", b"\xc0"),
            }
            found: dict[str, list[float]] = {name: [] for name in measured}
            for _ in range(rounds):
                for name, measure in measured.items():
                    found[name].append(measure())
            for name, times in found.items():
                print(f"{name:28} best {min(times):6.1f}   median {statistics.median(times):6.1f}")
            raw.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
