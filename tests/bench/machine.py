"""Facts about the machine and the programs that were measured."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import install
from roster import Peer


def facts(root: Path, peers: list[Peer]) -> dict[str, str]:
    pinned = install.versions()
    packages = sorted({peer.package for peer in peers} - {""})
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} usable CPUs",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Node": _output("node", "--version").removeprefix("v"),
        "Ganger": _output("git", "-C", str(root), "describe", "--always", "--dirty"),
        "peers": ", ".join(f"{package} {pinned[package]}" for package in packages),
        "load at the start": f"{os.getloadavg()[0]:.1f} (processes running or waiting in the last minute)",
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _output(*command: str) -> str:
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    ).stdout.strip()
