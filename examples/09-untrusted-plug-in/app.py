from pathlib import Path

from ganger import CallFailed, CallTimeout, Pool

plugin = Path(__file__).parent / "plugin.wat"
exits: list[int | None] = []

with Pool(wasm=plugin, workers=1, wasm_memory="16MiB") as pool:
    pool.on("worker:exit", lambda event: exits.append(event["pid"]))
    print(f"rot13: {bytes(pool.call('rot13', 'Hello')).decode()}")

    try:
        pool.call("endless", timeout=0.2)
    except CallTimeout as error:
        print(f"endless: {error.code} after 0.2 s")

    for function in ("greedy", "broken"):
        try:
            pool.call(function)
        except CallFailed as error:
            print(f"{function}: {error.report['type'] if error.report else None}")

    same = "the same worker" if not exits else "another worker"
    print(f"rot13: {bytes(pool.call('rot13', 'Uryyb')).decode()}, from {same}")
