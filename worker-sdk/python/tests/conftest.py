"""What holds for all tests."""

from __future__ import annotations

import signal

# A suite that runs in the background of a shell ignores Ctrl-C, and so would the workers that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
