"""The console script `ganger`: becomes the program of that name beside the native module."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

PROGRAM = Path(__file__).with_name("ganger")


def main() -> NoReturn:
    """Becomes the program. Its Python workers run in this interpreter unless it is told otherwise."""
    if not PROGRAM.is_file():
        sys.exit(f"{PROGRAM} is missing: this installation has no `ganger` command")
    os.execv(PROGRAM, [str(PROGRAM), "--own-python", sys.executable, *sys.argv[1:]])
