"""What the workers of a ``ProcessPool`` load.

It offers nothing but what every Python worker does: ``ganger.run``.
"""

import base64
import os
import pickle
import sys

from ganger_worker import startup

VARIABLE = "GANGER_PROCESS_POOL"


@startup
def prepare() -> None:
    """Becomes like the app: sees modules where it does, has its arguments; then runs its initializer."""
    path, home, sys.argv, environment, initializer = pickle.loads(_state())
    for name, value in environment.items():  # which were for this interpreter alone
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    here = os.path.dirname(os.path.abspath(__file__))
    own = [entry for entry in sys.path if entry != here]
    # The order of the app, too; but another interpreter's library must not come before this one's.
    first, last = (path, own) if home == (sys.prefix, sys.version_info[:2]) else (own, path)
    sys.path[:] = [*first, *(entry for entry in last if entry not in first)]
    if initializer is not None:
        # Pickled by itself: it may need the path.
        function, arguments = pickle.loads(initializer)
        function(*arguments)


def _state() -> bytes:
    # Removed, so that the worker's own children do not take it for theirs.
    text = os.environ.pop(VARIABLE)
    if not text.startswith("/"):
        return base64.b64decode(text)
    with open(text, "rb") as file:
        return file.read()
