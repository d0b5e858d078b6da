import itertools
import sys
from pathlib import Path

from ganger import Pool

worker = Path(__file__).parent / "worker.py"

with Pool(python=worker, workers=1) as pool:
    try:
        for token in pool.stream("tokens", {"forever": "forever" in sys.argv}):
            print("", token, end="", flush=True)
    except KeyboardInterrupt:
        pass  # Ctrl-C has left the loop, and so stopped the generation.
    print()

    # To leave the loop cancels the call: the worker is free for the next one.
    print("and five:", *itertools.islice(pool.stream("tokens", {"forever": True}), 5))

    # Both ways at once: lines are pulled as the function reads them.
    told = []
    lines = (line for line in ["hello", "is anybody there"])
    for answer in pool.stream("shout", inputs=lines, on_progress=told.append):
        print(answer)
    print(f"it has read {told[-1].done:.0f} lines, the last was {told[-1].note!r}")
