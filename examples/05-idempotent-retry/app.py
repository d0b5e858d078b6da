from pathlib import Path

from ganger import Pool, WorkerCrashed

retries: list[str] = []

with Pool(python=Path(__file__).parent / "worker.py", workers=2) as pool:
    pool.on("call:retry", lambda event: retries.append(event["fn"]))

    try:
        pool.call("charge")
    except WorkerCrashed as error:
        print(f"charge: {error.code} at attempt {error.attempts}, never repeated")

    done = pool.call("convert", {"amount": 10})
    print(f"convert: {done['amount']} at attempt {done['attempt']}")

    # Here the call says it, not the function.
    try:
        pool.call("poison", idempotent=True, retries=2)
    except WorkerCrashed as error:
        print(f"poison: {error.code} at attempt {error.attempts}")

print(f"told of {len(retries)} retries")
