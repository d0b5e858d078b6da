"""Gathers beside the native module what lies there: shim and SDKs, in a wheel `ganger` and `ganger-wasm` too.

    python stage.py [debug|release]

Run it after `cargo build -p ganger-shim -p ganger-cli -p ganger-wasm` and before a wheel is built.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HOME = HERE / "python" / "ganger"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def stage(profile: str) -> None:
    replace(TARGET / profile / "ganger-shim", HOME / "ganger-shim")
    python = ROOT / "worker-sdk" / "python"
    replace(python / "ganger_worker_start.py", HOME / "python" / "ganger_worker_start.py")
    mirror(python / "src" / "ganger_worker", HOME / "python" / "ganger_worker")
    node = ROOT / "worker-sdk" / "node" / "dist"
    for file in sorted(node.iterdir()) if node.is_dir() else ():
        if file.is_file():
            replace(file, HOME / "node" / file.name)


def stage_programs(profile: str) -> None:
    for program in ("ganger", "ganger-wasm"):
        replace(TARGET / profile / program, HOME / program)


def replace(source: Path, target: Path) -> None:
    """Puts a new file in the place of the old one, which may be in use."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.new")
    shutil.copy2(source, fresh)
    fresh.replace(target)


def mirror(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "debug"
    stage(chosen)
    stage_programs(chosen)
