"""The floor: blocking ping-pong over a socket pair between two plain processes, with no protocol at all.

As a program it is one end: ``floor.py child FD`` answers what it reads, ``floor.py host FD CALLS`` asks
one message at a time and prints the microseconds that each took. The host "tokio" is ``floor.rs``.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOKIO = HERE.parents[1] / "target/release/examples/floor"
MESSAGE = bytes(32)


def ping_pong(host: str, child: str, calls: int) -> list[float]:
    """Microseconds of each round trip of host and child, each "python" or "node", a host also "tokio"."""
    near, far = socket.socketpair()
    with near, far:
        answering = subprocess.Popen([*_program(child), "child", str(far.fileno())], pass_fds=[far.fileno()])
        far.close()
        command = [str(TOKIO), str(calls)]
        if host != "tokio":
            command = [*_program(host), "host", str(near.fileno()), str(calls)]
        asking = subprocess.run(
            command,
            pass_fds=[near.fileno()],
            stdin=near.fileno(),
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
    answering.wait(10)
    times: list[float] = json.loads(asking.stdout)
    return times


def _program(language: str) -> list[str]:
    return (
        ["node", str(HERE / "floor.mjs")]
        if language == "node"
        else [sys.executable, "-S", str(HERE / "floor.py")]
    )


def _answer(end: socket.socket) -> None:
    while message := end.recv(4096):
        end.sendall(message)


def _ask(end: socket.socket, calls: int) -> None:
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        end.sendall(MESSAGE)
        end.recv(4096)
        times.append((time.perf_counter() - begin) * 1e6)
    print(json.dumps(times))


if __name__ == "__main__":
    end = socket.socket(fileno=int(sys.argv[2]))
    if sys.argv[1] == "child":
        _answer(end)
    else:
        _ask(end, int(sys.argv[3]))
