"""``python -m ganger_worker TARGET``."""

import sys

from ganger_worker.worker import main

sys.exit(main())
