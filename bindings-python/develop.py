"""Builds the native module and the shim and puts them where the package in this folder finds them.

    python develop.py [--release]

Then `PYTHONPATH=python` is all that an interpreter needs.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stage import HERE, HOME, ROOT, TARGET, replace, stage


def main() -> None:
    release = "--release" in sys.argv[1:]
    command = ["cargo", "build", "--quiet", "-p", "ganger-python", "-p", "ganger-shim"]
    subprocess.run([*command, *(["--release"] if release else [])], cwd=ROOT, check=True)
    profile = "release" if release else "debug"
    replace(native_module(profile), HOME / "_native.abi3.so")
    stage(profile)
    print(f"staged the {profile} build in {HOME.relative_to(HERE)}")


def native_module(profile: str) -> Path:
    name = "lib_native.dylib" if sys.platform == "darwin" else "lib_native.so"
    return TARGET / profile / name


if __name__ == "__main__":
    main()
