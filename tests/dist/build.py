"""Builds what users install: two wheels and three npm packages for this platform, in dist/.

python tests/dist/build.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    run(["npm", "run", "--silent", "build:release"], ROOT / "worker-sdk" / "node")
    run(["node", "pack.mjs", str(DIST)], ROOT / "worker-sdk" / "node")
    build_npm("bindings-node", "build:package")
    run([sys.executable, "bindings-python/stage.py", "release"])
    maturin = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--out", str(DIST)]
    run([*maturin, "--interpreter", sys.executable], ROOT / "bindings-python")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    run([*wheel, "--no-deps", "--no-build-isolation", "--wheel-dir", str(DIST), "worker-sdk/python"])
    for package in sorted(DIST.iterdir()):
        print(f"{package.stat().st_size / 1e6:6.2f} MB  {package.relative_to(ROOT)}")


def build_npm(folder: str, script: str) -> None:
    run(["npm", "run", "--silent", script], ROOT / folder)
    run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(DIST)], ROOT / folder)


def run(command: list[str], directory: Path = ROOT) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    subprocess.run(command, cwd=directory, env=environment, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
