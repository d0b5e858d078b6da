import os
import sys
from pathlib import Path
from typing import Any

from ganger import Pool

target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
languages = {"Rust": target / "debug/shared-model", "Go": target / "go/shared-model"}


def ask(command: Path, workers: int, concurrency: int) -> dict[str, Any]:
    """The same eight calls by as many workers, with so many calls at once in each."""
    with Pool(command=[command], workers=workers, concurrency=concurrency) as pool:
        pool.warm()
        futures = [pool.submit("predict", {"seed": seed, "steps": 500_000}) for seed in range(1, 9)]
        replies = [future.result() for future in futures]
        return {
            "answers": tuple(reply["answer"] for reply in replies),
            "processes": len({reply["pid"] for reply in replies}),
            "memory": sum(worker["memory"] or 0 for worker in pool.stats()["details"]),
        }


answers = set()
for language, command in languages.items():
    if not command.exists():
        print(f"{language}: left out, {command} has not been built", file=sys.stderr)
        continue
    one = ask(command, 1, 4)
    print(f"{language}, 1 worker with 4 calls at once: {one['processes']} process, 1 model")
    four = ask(command, 4, 1)
    times = round(four["memory"] / one["memory"])
    print(f"{language}, 4 workers with 1 call each: {four['processes']} processes, {times} times the memory")
    answers |= {one["answers"], four["answers"]}
print(f"different answers: {len(answers) - 1}")
