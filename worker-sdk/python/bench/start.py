"""What a worker's start costs: processor and wall time from its spawn to READY, against a bare interpreter.

python bench/start.py [runs] [another checkout's worker-sdk/python]; medians, in turns. Linux: it reads /proc.
Compile the byte code first (python -m compileall -q src), as an installed package has it.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

SDK = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SDK / "src"), str(SDK / "tests")]

from ganger_worker.protocol import HEADER, HEADER_SIZE, Kind, frame  # noqa: E402
from host import pack, receive, welcome_body  # noqa: E402

BARE = "import os; os.write(1, b'.'); os.read(0, 1)"
WORKERS = {
    "one plain function": "from ganger_worker import action\n@action\ndef echo(x): return x\n",
    "scalar hints": "from ganger_worker import action\n@action\n"
    "def add(a: int, b: int = 2) -> int: return a + b\n",
    "Literal hint": "from typing import Literal\nfrom ganger_worker import action\n@action\n"
    "def convert(amount: float, to: Literal['EUR', 'USD'] = 'EUR') -> float: return amount\n",
    "coroutine": "import asyncio\nfrom ganger_worker import action\n@action\nasync def echo(x): return x\n",
}
Measured = tuple[float, float]  # milliseconds of processor and of wall time


def bare() -> Measured:
    begin = time.perf_counter()
    command = [sys.executable, "-c", BARE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        return taken(process, begin)


def start(sdk: Path, target: Path, concurrency: int = 1, call: bytes = b"") -> Measured:
    ours = [socket.socketpair() for _ in range(2)]
    numbers = [theirs.fileno() for _, theirs in ours]
    names = ("GANGER_DATA_FD", "GANGER_CONTROL_FD")
    lanes = dict(zip(names, map(str, numbers), strict=True))
    (data, _), (control, _) = ours
    # The SDK under test is the one that the interpreter finds first.
    variables = {**os.environ, **lanes, "PYTHONPATH": str(sdk / "src")}
    begin = time.perf_counter()
    command = [sys.executable, str(sdk / "ganger_worker_start.py"), str(target)]
    with subprocess.Popen(command, pass_fds=numbers, env=variables, stdin=subprocess.DEVNULL) as process:
        for _, theirs in ours:
            theirs.close()
        read(control)
        control.sendall(frame(Kind.WELCOME, body=pack(welcome_body(concurrency=concurrency)), flags=1))
        assert read(data) == Kind.READY
        if call:
            data.sendall(call)
            assert read(data) == Kind.RESULT
        measured = taken(process, begin)
        data.close(), control.close()
        return measured


def read(lane: socket.socket) -> int:
    length, _, kind, *_ = HEADER.unpack(receive(lane, HEADER_SIZE))
    receive(lane, length)
    return kind


def taken(process: subprocess.Popen[bytes], begin: float) -> Measured:
    """The process waits for more by now, or is about to."""
    wall = time.perf_counter() - begin
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    nanoseconds = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
    return nanoseconds / 1e6, wall * 1e3


def cases(folder: Path, sdks: list[Path]) -> dict[str, Callable[[], Measured]]:
    found: dict[str, Callable[[], Measured]] = {"bare interpreter": bare}
    for sdk in sdks:
        mark = "" if sdk == SDK else f" ({sdk})"
        for name, code in WORKERS.items():
            target = folder / f"{name.replace(' ', '_')}.py"
            target.write_text(code)
            found[name + mark] = partial(start, sdk, target)
        plain = folder / "one_plain_function.py"
        call = frame(Kind.CALL, 1, pack(["echo"]), pack({"x": [1, "two"]}), 1)
        found["and four at a time" + mark] = partial(start, sdk, plain, 4)
        found["and its first call" + mark] = partial(start, sdk, plain, 1, call)
    return found


def main(runs: int, others: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measures = cases(Path(folder), [SDK, *others])
        found: dict[str, list[Measured]] = {name: [] for name in measures}
        for turn in range(runs + 1):
            for name, measure in measures.items():
                measured = measure()
                if turn:  # the first run fills the caches of the file system
                    found[name].append(measured)
        width = max(map(len, found))
        for name, measured in found.items():
            cpu, wall = (statistics.median(column) for column in zip(*measured, strict=True))
            print(f"{name:{width}}  cpu {cpu:6.1f} ms   wall {wall:6.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30, [Path(other).resolve() for other in sys.argv[2:]])
