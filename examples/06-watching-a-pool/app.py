from pathlib import Path

from ganger import Pool, WorkerCrashed, WorkerExitEvent, WorkerLogEvent, WorkerReadyEvent


def on_ready(event: WorkerReadyEvent) -> None:
    print(f"worker {event['worker']} is ready")


def on_log(event: WorkerLogEvent) -> None:
    print(f"worker {event['worker']} said: {event['message']} (in {event['fn']})")


def on_exit(event: WorkerExitEvent) -> None:
    if event["reason"] != "shutdown":
        print(f"worker {event['worker']} ended: {event['reason']}, {event['signal']}")


with Pool(python=Path(__file__).parent / "worker.py", workers=1) as pool:
    pool.on("worker:ready", on_ready)
    pool.on("worker:log", on_log)
    pool.on("worker:exit", on_exit)

    pool.warm()
    naps = [pool.submit("nap", {"seconds": 0.3}), pool.submit("nap", {"seconds": 0})]
    seen = [f"{call['fn']} {call['state']}" for call in pool.calls()]
    for nap in naps:
        nap.result()

    pool.call("say", {"text": "good night"})
    try:
        pool.call("die")
    except WorkerCrashed:
        pool.warm()  # the next worker is on its way already

    stats = pool.stats()

print(f"seen meanwhile: {', '.join(seen)}")
print(f"submitted {stats['submitted']}, completed {stats['completed']}, failed {stats['failed']}")
