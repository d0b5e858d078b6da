import time
from pathlib import Path

from ganger import Pool

with Pool(python=Path(__file__).parent / "worker.py", workers=1, max_memory="120mb") as pool:
    pool.call("predict", {"x": 1})
    print("first answer after the load")

    slowest, n = 0.0, 0
    while n < 2000 and pool.stats()["recycled"]["memory"] == 0:
        asked = time.monotonic()
        pool.call("predict", {"x": n})
        slowest = max(slowest, time.monotonic() - asked)
        n += 1
        time.sleep(0.025)
    stats = pool.stats()
    replaced = "" if stats["recycled"]["memory"] else "not "
    print(f"{replaced}replaced for its memory; {stats['failed']} calls failed")
    print(f"did a call wait for the load? {'yes' if slowest > 2.9 else 'no'}")

    # For a moment there are two: the old one leaves when its last call has ended.
    while pool.stats()["workers"] > 1:
        time.sleep(0.01)
    print(f"workers in the end: {pool.stats()['workers']}")
