"""Installs the peers, pinned, into .cache/bench: nothing global, and nothing again once they are there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from roster import Peer

PINS = Path(__file__).resolve().parent / "peers"


@dataclass
class Installed:
    python: Path  # the interpreter that has the Python peers
    node: Path  # a package.json to resolve the Node peers from
    missing: dict[str, str] = field(default_factory=dict)  # by package: why it could not be installed


def install(cache: Path, peers: Iterable[Peer]) -> Installed:
    """Whatever cannot be installed here is told, and the rest is measured."""
    installed = Installed(cache / "venv" / "bin" / "python", cache / "node" / "package.json")
    packages = {"python": [""], "node": [""]}
    for peer in peers:
        packages[peer.language].append(peer.package)
    _python(cache / "venv", sorted({*packages["python"]} - {""}), installed)
    _node(cache / "node", sorted({*packages["node"]} - {""}), installed)
    return installed


def versions() -> dict[str, str]:
    """What is pinned, by package."""
    lines = (PINS / "requirements.txt").read_text().splitlines()
    node = json.loads((PINS / "package.json").read_text())["dependencies"]
    return {**dict(line.split("==") for line in lines if "==" in line), **node}


def _python(folder: Path, packages: list[str], installed: Installed) -> None:
    pins = PINS / "requirements.txt"
    if not _holds(folder, pins):
        _run([sys.executable, "-m", "venv", str(folder)], folder)
        shutil.copy(pins, folder / pins.name)
    for package in packages:
        done = folder / f"{package}.installed"
        if done.exists():
            continue
        _say(f"installs {package} {versions()[package]}")
        options = ["--quiet", "--disable-pip-version-check", "-c", str(pins)]
        fault = _run([str(installed.python), "-m", "pip", "install", *options, package], folder)
        if fault:
            installed.missing[package] = fault
        else:
            done.touch()


def _node(folder: Path, packages: list[str], installed: Installed) -> None:
    lock = PINS / "package-lock.json"
    if not packages or (_holds(folder, lock) and (folder / "node_modules").exists()):
        return
    _say("installs " + ", ".join(packages))
    shutil.copy(PINS / "package.json", folder)
    shutil.copy(lock, folder)
    fault = _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], folder)
    if fault:
        installed.missing.update(dict.fromkeys(packages, fault))
        shutil.rmtree(folder / "node_modules", ignore_errors=True)


def _holds(folder: Path, pins: Path) -> bool:
    """Whether a folder was made from these pins; if not, it is made empty."""
    copy = folder / pins.name
    if copy.exists() and copy.read_text() == pins.read_text():
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return False


def _run(command: list[str], folder: Path) -> str:
    """What went wrong, in a line; nothing if all went well."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    told = next((line for line in lines if "error" in line.lower()), "".join(lines[-1:]))
    return f"not installed: {told[:120] or 'no reason given'}" if done.returncode else ""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
