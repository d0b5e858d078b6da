import json
from pathlib import Path

from ganger import CallFailed, InvalidInput, NoSuchFunction, Pool, WorkerCrashed

with Pool(python=Path(__file__).parent / "worker.py", workers=2) as pool:
    # The function's own error: its type, text and properties, whatever language it is written in.
    try:
        pool.call("order", {"count": 5})
    except CallFailed as error:
        report = error.report or {}
        properties = json.dumps(report["properties"], separators=(",", ":"))
        print(f"{error.code}: {report['type']}: {report['message']} (properties: {properties})")

    # Mistakes of the caller are found before the function runs.
    try:
        pool.call("order", {"count": "five"})
    except InvalidInput as error:
        path = error.report["path"] if error.report else None
        print(f"{error.code} at {path}: the function did {'not ' * error.safe_to_repeat}run")
    try:
        pool.call("odrer", {"count": 1})
    except NoSuchFunction as error:
        print(f"{error.code}: the function did {'not ' * error.safe_to_repeat}run")

    # A dead worker costs the call that it had. The one beside it does not notice.
    crashing, neighbour = pool.submit("crash"), pool.submit("order", {"count": 2})
    try:
        crashing.result()
    except WorkerCrashed as error:
        repeat = "yes" if error.safe_to_repeat else "no"
        print(
            f"{error.code} by {error.signal}: safe to repeat? {repeat}; its neighbour: {neighbour.result()}"
        )

    # A function that says it may run twice without harm does not even fail: another worker tries again.
    print(f"restock: {pool.call('restock')}")
    print(f"and afterwards: {pool.call('order', {'count': 1})}")
