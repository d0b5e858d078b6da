from pathlib import Path

from ganger import Pool

here = Path(__file__).parent

with Pool(python=here / "worker.py", workers=2) as python, Pool(node=here / "worker.mjs", workers=1) as node:
    print(python.call("greet", {"name": "Ada"}))
    print(node.call("greet", {"name": "Ada"}))

    # Several at once: two workers share the calls, each future has its own result.
    texts = ["one two three", "a pool is made of processes", ""]
    futures = [python.submit("count_words", {"text": text}) for text in texts]
    print(", ".join(f"{future.result()} words" for future in futures))

    stats = python.stats()
    print(f"completed: {stats['completed']}, failed: {stats['failed']}")
