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
    """Sees modules where the app does, then runs the app's initializer."""
    # Removed, so that the worker's own children do not take it for theirs.
    state = os.environ.pop(VARIABLE)
    path, initializer = pickle.loads(base64.b64decode(state))
    sys.path.extend(entry for entry in path if entry not in sys.path)
    if initializer is not None:
        # Pickled by itself: it may need the path.
        function, arguments = pickle.loads(initializer)
        function(*arguments)
