"""Runs every example as its README says, from both languages, and compares what it prints."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "debug"
GO = BUILT.parent / "go" / "shared-model"
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
    if no_go := not GO.exists() and "CI" not in os.environ:
        printed = [line for line in printed if not line.startswith("Go, ")]
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
    if no_go and "Go: left out" in done.stderr:
        pytest.skip("no go toolchain: the rest prints what it says")


@pytest.mark.parametrize("program", [[sys.executable, "app.py"], ["node", "app.mjs"]], ids=["python", "node"])
def test_ctrl_c_stops_the_generation_and_the_worker_serves_on(program: list[str]) -> None:
    folder = HERE / "07-tokens-as-they-come"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    app = subprocess.Popen(
        [*program, "forever"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert app.stdout is not None
    # More than the story has: it has begun anew.
    assert len(app.stdout.read(200)) == 200
    # As a terminal does it: to all of the session, where workers are not.
    os.killpg(app.pid, signal.SIGINT)
    printed, complaint = app.communicate(timeout=LIMIT_SECONDS)
    _, expected = blocks(folder / "README.md")
    assert (app.returncode, printed.splitlines()[1:]) == (0, expected[1:]), complaint


def test_one_worker_or_several_are_compared_in_a_table() -> None:
    command = [sys.executable, "table.py", "--quick"]
    done = subprocess.run(
        command, cwd=HERE / "08-one-shared-model", capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    assert done.returncode == 0, done.stderr
    assert {row[0] for row in rows} == ({"Rust", "Go"} if GO.exists() or "CI" in os.environ else {"Rust"})
    # Seconds are followed by megabytes: one worker has one model, whatever it runs at once.
    memory = {(row[0], int(row[1]), int(row[2])): int(row[5]) for row in rows}
    for language, workers, at_once in memory:
        assert memory[language, workers, at_once] < 1.5 * workers * memory[language, 1, 1]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_readme_fits_the_eye(folder: Path) -> None:
    assert len((folder / "README.md").read_text().splitlines()) <= 15
