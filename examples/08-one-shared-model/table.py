"""Times the same calls with several workers and with several calls in one, and prints the table.

python table.py             builds both workers, optimized
python table.py --quick     takes what `make programs` has built, with short calls
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ganger import Pool

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
QUICK = "--quick" in sys.argv
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
CALLS = 8
CALL_SECONDS = 0.01 if QUICK else 0.33
ROUNDS = 1 if QUICK else 5


def main() -> None:
    print(f"{CALLS} calls that compute for {CALL_SECONDS} s each, on {CORES} cores; the fastest of {ROUNDS}")
    print(f"{'':<6}{'workers':>8}{'calls at once in each':>23}{'time':>9}{'memory':>9}")
    for language, command in commands().items():
        pools = [
            Pool(command=[command], workers=workers, concurrency=at_once) for workers, at_once in shapes()
        ]
        measure(language, pools)
        for pool in pools:
            pool.close()


def shapes() -> list[tuple[int, int]]:
    """So many workers, and so many calls at once in each."""
    return list(dict.fromkeys([(1, 1), ((CORES + 1) // 2, 1), (CORES, 1), (1, CORES)]))


def measure(language: str, pools: list[Pool]) -> None:
    for pool in pools:
        pool.warm()
    steps = steps_of_a_call(pools[0])
    times = [float("inf")] * len(pools)
    # In turn, so that what else the machine does meets them all.
    for _ in range(ROUNDS):
        for index, pool in enumerate(pools):
            times[index] = min(times[index], seconds(pool, steps))
    for pool, (workers, at_once), best in zip(pools, shapes(), times, strict=True):
        memory = sum(worker["memory"] or 0 for worker in pool.stats()["details"])
        print(f"{language:<6}{workers:>8}{at_once:>23}{best:>7.2f} s{memory / 1e6:>6.0f} MB", flush=True)


def steps_of_a_call(pool: Pool) -> int:
    steps = 1_000_000 if QUICK else 20_000_000
    fastest = min(seconds(pool, steps, calls=1) for _ in range(5))
    return round(steps * CALL_SECONDS / fastest)


def seconds(pool: Pool, steps: int, calls: int = CALLS) -> float:
    begun = time.perf_counter()
    futures = [pool.submit("predict", {"seed": seed, "steps": steps}) for seed in range(calls)]
    for future in futures:
        future.result()
    return time.perf_counter() - begun


def commands() -> dict[str, Path]:
    """The workers of both languages; Go's only where there is a go."""
    if QUICK:
        built = {"Rust": TARGET / "debug/shared-model", "Go": TARGET / "go/shared-model"}
        return {language: path for language, path in built.items() if path.exists()}
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "shared-model"], cwd=ROOT, check=True)
    built = {"Rust": TARGET / "release/shared-model"}
    beside = os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)])
    if go := shutil.which("go", path=beside):
        built["Go"] = TARGET / "go/shared-model"
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "-buildvcs=false"}
        command = [go, "build", "-o", str(built["Go"].resolve()), "."]
        subprocess.run(command, cwd=HERE / "go", env=environment, check=True)
    else:
        print("Go: left out, there is no go", file=sys.stderr)
    return built


if __name__ == "__main__":
    main()
