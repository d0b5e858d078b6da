import time
from concurrent.futures import CancelledError
from pathlib import Path

from ganger import CallTimeout, Pool, QueueTimeout

worker = Path(__file__).parent / "worker.py"

with Pool(python=worker, workers=1) as pool:
    before: int = pool.call("pid")

    def fate() -> str:
        global before
        last, before = before, pool.call("pid")
        return "worker alive" if last == before else "worker replaced"

    try:
        pool.call("nap", {"seconds": 60}, timeout=0.2)
    except CallTimeout as error:
        print(f"nap: {error.code} after 0.2 s, {fate()}")

    computing = pool.submit("compute")
    while pool.stats()["running"] == 0:
        time.sleep(0.005)
    computing.cancel()
    try:
        computing.result()
    except CancelledError:
        print(f"compute: CANCELLED while it ran, {fate()}")

    # The caller hears at once; the worker has `cancel_grace`, 2 s, to stop and is then replaced.
    try:
        pool.call("stubborn", timeout=0.2)
    except CallTimeout as error:
        print(f"stubborn: {error.code} after 0.2 s, {fate()}")

    first = pool.submit("nap", {"seconds": 1})
    second = pool.submit("nap", {"seconds": 1}, queue_timeout=0.1)
    try:
        second.result()
    except QueueTimeout as error:
        print(f"queued: {error.code}, never ran")
    first.result()
    print(f"and afterwards: {pool.call('nap', {'seconds': 0.01})}")
