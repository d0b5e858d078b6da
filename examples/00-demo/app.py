"""Sends photographs to workers in Python, Node and Rust, several at once, and kills one worker half-way.

python app.py PHOTOGRAPHS OUT
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ganger import Pool

from report import Report

folder, out = Path(sys.argv[1]), Path(sys.argv[2])
workers = Path(__file__).parent / "workers"

pools = {
    "python": Pool(python=workers, name="thumbnails", workers=2),
    "node": Pool(node=workers / "colours.mjs", name="colours", workers=2),
    # Rust runs its calls in threads: one process is enough.
    "rust": Pool(command=[os.environ["FINGERPRINT"]], name="fingerprints", workers=1, concurrency=4),
}

files = sorted(folder.iterdir())
report = Report(pools, title="Python app", calls=3 * len(files) + 1)
thumbnails = 0


async def look(file: Path) -> dict[str, Any]:
    global thumbnails
    photo = file.read_bytes()
    thumbnail = await pools["python"].submit(
        "thumbnails.thumbnail", {"photo": photo, "size": 200}, idempotent=True
    )
    thumbnails += 1
    if thumbnails == len(files) // 2:
        kill_one(pools["python"])
    colours, fingerprint = await asyncio.gather(
        pools["node"].submit("palette", {"pixels": thumbnail["pixels"]}),
        pools["rust"].submit("fingerprint", {"photo": photo, **thumbnail}),
    )
    return {"name": file.stem, **thumbnail, "colours": colours, **fingerprint}


def kill_one(pool: Pool) -> None:
    """As a bug in C code would. The worker's call is idempotent, so it runs again."""
    pid = next(worker["pid"] for worker in pool.stats()["details"] if worker["busy"])
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def main() -> None:
    try:
        with report:
            pictures = await asyncio.gather(*map(look, files))
            title = f"{len(pictures)} pictures, looked at by Python, Node and Rust"
            sheet = await pools["python"].submit("contact_sheet.draw", {"title": title, "pictures": pictures})
        out.mkdir(parents=True, exist_ok=True)
        (out / "python.png").write_bytes(sheet)
        known = [{key: value for key, value in picture.items() if key != "pixels"} for picture in pictures]
        (out / "python.json").write_text(json.dumps(known))
    finally:
        for pool in pools.values():
            pool.close()


asyncio.run(main())
