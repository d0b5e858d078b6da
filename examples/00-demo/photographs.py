"""The demo's input: twenty pictures that the scikit-image package ships, kept in .cache once fetched."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Any platform's wheel holds the same pictures, so one is named and every machine gets the same file.
PACKAGE = "scikit-image==0.26.0"
WHEEL = ["--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "--only-binary", ":all:"]
NAMES = [
    "astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png",
    "coins.png", "grass.png", "gravel.png", "horse.png", "hubble_deep_field.jpg", "ihc.png", "moon.png",
    "motorcycle_left.png", "motorcycle_right.png", "page.png", "retina.jpg", "rocket.jpg", "text.png",
]  # fmt: skip


def fetch(folder: Path) -> list[Path]:
    """The pictures' paths; downloads the package if one is missing."""
    paths = [folder / name for name in NAMES]
    if not all(path.exists() for path in paths):
        _download(folder)
    return paths


def _download(folder: Path) -> None:
    part = folder.with_suffix(".part")  # becomes `folder` once it is whole
    shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    part.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", temporary]
        subprocess.run([*pip, *WHEEL, PACKAGE], check=True)
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in NAMES:
                (part / name).write_bytes(archive.read(f"skimage/data/{name}"))
    part.rename(folder)
