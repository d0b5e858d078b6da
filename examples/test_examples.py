"""Runs every example as its README says, from both languages, and compares what it prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "debug"
LIMIT_SECONDS = 120


def blocks(readme: Path) -> tuple[list[str], list[str]]:
    """The commands of a README and the lines that they print: its two indented blocks."""
    found: list[list[str]] = [[]]
    for line in readme.read_text().splitlines():
        if line.startswith("    "):
            found[-1].append(line[4:])
        elif found[-1]:
            found.append([])
    commands, printed = (block for block in found if block)
    return commands, printed


EXAMPLES = sorted(
    path.parent for path in HERE.glob("[0-9]*/README.md") if not path.parent.name.startswith("00")
)
RUNS = [
    pytest.param(folder, command, printed, id=f"{folder.name}: {command}")
    for folder in EXAMPLES
    for commands, printed in [blocks(folder / "README.md")]
    for command in commands
]


def test_there_are_examples_in_both_languages() -> None:
    assert len(RUNS) == 2 * len(EXAMPLES) >= 6


@pytest.mark.parametrize(("folder", "command", "printed"), RUNS)
def test_prints_what_its_readme_says(folder: Path, command: str, printed: list[str]) -> None:
    # `python` is the one that runs the tests, for the app and for the workers of a Node app.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env={"GANGER_WASM": str(BUILT / "ganger-wasm"), **os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, printed), done.stderr


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_readme_fits_the_eye(folder: Path) -> None:
    assert len((folder / "README.md").read_text().splitlines()) <= 15
