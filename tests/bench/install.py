"""Installs the peers, pinned, into .cache/bench: nothing global, and nothing again once they are there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PYTHON_PEERS = ["deadpool-executor==2026.7.1"]
NODE_PEERS = {"tinypool": "2.2.0", "workerpool": "10.0.3"}


@dataclass(frozen=True)
class Peers:
    python: Path  # for PYTHONPATH
    node: Path  # a package.json to resolve from


def install(cache: Path) -> Peers:
    return Peers(python=_python(cache / "python"), node=_node(cache / "node"))


def _python(folder: Path) -> Path:
    if not _is(folder, json.dumps(PYTHON_PEERS)):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *PYTHON_PEERS]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        _remember(folder, json.dumps(PYTHON_PEERS))
    return folder


def _node(folder: Path) -> Path:
    package = folder / "package.json"
    if not _is(folder, json.dumps(NODE_PEERS)):
        package.write_text(json.dumps({"private": True, "type": "module", "dependencies": NODE_PEERS}))
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        _remember(folder, json.dumps(NODE_PEERS))
    return package


def _is(folder: Path, wanted: str) -> bool:
    """Whether a folder holds what is wanted; if not, it is made empty."""
    done = folder / "installed.json"
    if done.exists() and done.read_text() == wanted:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return False


def _remember(folder: Path, installed: str) -> None:
    (folder / "installed.json").write_text(installed)
