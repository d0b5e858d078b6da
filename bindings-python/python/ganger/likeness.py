"""What makes the workers of a ``ProcessPool`` like the app: its path, arguments, flags and initializer."""

from __future__ import annotations

import base64
import os
import pickle
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

from .pickling import dumps

_VARIABLE: Final = "GANGER_PROCESS_POOL"
# The system takes no variable of 128 KiB or more.
_LONGEST_VARIABLE: Final = 100_000
# Flags that the interpreter takes from variables as well.
_FLAGS: Final[dict[str, str]] = {
    "optimize": "PYTHONOPTIMIZE",
    "dev_mode": "PYTHONDEVMODE",
    "dont_write_bytecode": "PYTHONDONTWRITEBYTECODE",
    "no_user_site": "PYTHONNOUSERSITE",
    "safe_path": "PYTHONSAFEPATH",
    "utf8_mode": "PYTHONUTF8",
}


def variables(
    given: Mapping[str, str | None], initializer: Callable[..., object] | None, initargs: tuple[Any, ...]
) -> tuple[dict[str, str | None], object]:
    """The environment in which workers find all that, and what must be kept as long as workers start."""
    flags = {name: value for name, value in _flags().items() if name not in given}
    own = {name: os.environ.get(name) for name in flags}
    pickled = None if initializer is None else dumps((initializer, initargs))
    home = (sys.prefix, sys.version_info[:2])
    # Workers may run elsewhere, and the app may move.
    path = [os.path.abspath(entry) for entry in sys.path]
    state = pickle.dumps((path, home, sys.argv, own, pickled))
    text, kept = base64.b64encode(state).decode(), None
    if len(text) > _LONGEST_VARIABLE:
        kept = _File(state)
        text = kept.path
    return {**given, **flags, _VARIABLE: text}, kept


def _flags() -> dict[str, str]:
    """As the standard library starts its processes."""
    found = {
        variable: str(int(getattr(sys.flags, flag)))
        for flag, variable in _FLAGS.items()
        if getattr(sys.flags, flag)
    }
    if sys.warnoptions:
        found["PYTHONWARNINGS"] = ",".join(sys.warnoptions)
    return found


class _File:
    """A file that is there as long as this object, and that nothing is left of when the app is gone, if there
    is such a thing."""

    def __init__(self, content: bytes) -> None:
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("ganger-process-pool")
            self.path = f"/proc/{os.getpid()}/fd/{descriptor}"
        else:
            import tempfile

            descriptor, self.path = tempfile.mkstemp(prefix="ganger-")
            weakref.finalize(self, os.unlink, self.path)
        weakref.finalize(self, os.close, descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
