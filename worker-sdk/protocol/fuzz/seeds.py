"""The golden vectors as the fuzzer's first inputs: a byte that says how a stream is cut, then the stream."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent.parent / "vectors"
# All at once, and byte by byte.
CUTS = (255, 1)
LENGTHS = struct.Struct("<QI")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, stream in streams():
        for cut in CUTS:
            (folder / f"{name.replace(' ', '-').replace('/', '-')}-{cut}").write_bytes(bytes([cut]) + stream)


def streams() -> Iterator[tuple[str, bytes]]:
    frames, malformed = load("frames"), load("malformed")
    for entry in frames["vectors"] + malformed["frames"]:
        yield entry["name"], bytes.fromhex(entry["hex"])
    results = (
        entry for entry in frames["vectors"] if [frame["kind"] for frame in entry["frames"]] == ["RESULT"]
    )
    result = next(results)
    # Kind, flags and seq of any result; a value travels as one's payload.
    rest_of_header = bytes.fromhex(result["hex"])[LENGTHS.size : 24]
    for entry in load("values")["values"] + malformed["values"]:
        payload = bytes.fromhex(entry["hex"])
        yield f"value-{entry['name']}", LENGTHS.pack(len(payload), 0) + rest_of_header + payload


def load(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
