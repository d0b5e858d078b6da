"""Starts a worker: with the ganger_worker that the interpreter has installed, else with the copy beside it.

So a Node app needs no pip, and a Python environment that pins a version gets the one it pins.
"""

import os
import sys


def _choose_package() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    # Python put this folder first on the path; the user's modules must not be shadowed by what lies here.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here or entry == ""]
    try:
        __import__("ganger_worker")
    except ModuleNotFoundError as missing:
        if missing.name != "ganger_worker":
            raise
    else:
        return
    for folder in (os.path.join(here, "src"), here):
        if os.path.isdir(os.path.join(folder, "ganger_worker")):
            sys.path.append(folder)
            return
    sys.exit(f"ganger_worker is not installed and no copy lies beside {__file__}")


if __name__ == "__main__":
    _choose_package()
    from ganger_worker.worker import main

    sys.exit(main())
