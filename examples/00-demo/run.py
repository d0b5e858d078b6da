"""The demo: real pictures, a Node app and a Python app, workers in three languages, and one of them killed.

Fetches the pictures once, runs both apps, and checks that nothing was lost and that both found the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import photographs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PICTURES = ROOT / ".cache" / "photographs"
OUT = HERE / "out"


def main() -> None:
    paths = photographs.fetch(PICTURES)
    package, version = photographs.PACKAGE.split("==")
    print(f"{len(paths)} pictures of {package} {version} lie in {PICTURES.relative_to(ROOT)}\n", flush=True)
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "demo-fingerprint"], cwd=ROOT, check=True)
    shutil.rmtree(OUT, ignore_errors=True)
    for command in (["node", "app.mjs"], [sys.executable, "app.py"]):
        subprocess.run([*command, PICTURES, OUT], cwd=HERE, env=_environment(), check=True)
    _check(paths)
    shutil.copy(OUT / "python.png", OUT / "contact-sheet.png")
    print(
        "Both apps found the same colours and hashes and drew the same sheet, byte for byte;"
        " none of their calls was lost."
    )
    print(f"The contact sheet: {(OUT / 'contact-sheet.png').relative_to(ROOT)}")


def _environment() -> dict[str, str]:
    # As in an activated environment: `python3` on the path is the one that has Pillow.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return {**os.environ, "PATH": path, "FINGERPRINT": str(target / "release" / "demo-fingerprint")}


def _check(paths: list[Path]) -> None:
    """What both apps found must be the same, complete and true."""
    node, python = (json.loads((OUT / f"{app}.json").read_text()) for app in ("node", "python"))
    if node != python or (OUT / "node.png").read_bytes() != (OUT / "python.png").read_bytes():
        sys.exit("the apps found different things")
    true = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    if {picture["name"]: picture["sha256"] for picture in python} != true:
        sys.exit("a picture was lost or damaged on its way")


if __name__ == "__main__":
    main()
