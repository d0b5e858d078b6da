"""The demo: real pictures, a Node app and a Python app, workers in three languages, and one of them killed.

Fetches the pictures once, runs both apps, and checks that nothing was lost and that both found the same.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import photographs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PICTURES = ROOT / ".cache" / "photographs"
OUT = HERE / "out"
ALIKE_BITS = 12


def main() -> None:
    paths = photographs.fetch(PICTURES)
    print(
        f"{len(paths)} pictures of {photographs.PACKAGE.split('==')[0]} lie in {PICTURES.relative_to(ROOT)}\n"
    )
    shutil.rmtree(OUT, ignore_errors=True)
    for command in (["node", "app.mjs"], [sys.executable, "app.py"]):
        subprocess.run([*command, PICTURES, OUT], cwd=HERE, env=_environment(), check=True)
    pictures = _check(paths)
    shutil.copy(OUT / "python.png", OUT / "contact-sheet.png")
    print(
        "Both apps found the same colours and hashes and drew the same sheet, byte for byte;"
        " none of their calls was lost."
    )
    for one, other, bits in _alike(pictures):
        print(f"{one} and {other} look alike: {bits} of 64 bits of their perceptual hashes differ.")
    print(f"The contact sheet: {(OUT / 'contact-sheet.png').relative_to(ROOT)}")


def _environment() -> dict[str, str]:
    # As in an activated environment: `python3` on the path is the one that has Pillow.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return {**os.environ, "PATH": path, "FINGERPRINT": str(target / "release" / "demo-fingerprint")}


def _check(paths: list[Path]) -> list[dict[str, Any]]:
    """What both apps found, which must be the same, complete and true."""
    node, python = (json.loads((OUT / f"{app}.json").read_text()) for app in ("node", "python"))
    if node != python or (OUT / "node.png").read_bytes() != (OUT / "python.png").read_bytes():
        sys.exit("the apps found different things")
    true = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    if {picture["name"]: picture["sha256"] for picture in python} != true:
        sys.exit("a picture was lost or damaged on its way")
    return list(python)


def _alike(pictures: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    pairs = []
    for one, other in itertools.combinations(pictures, 2):
        bits = (int(one["dhash"], 16) ^ int(other["dhash"], 16)).bit_count()
        if bits <= ALIKE_BITS:
            pairs.append((one["name"], other["name"], bits))
    return pairs


if __name__ == "__main__":
    main()
