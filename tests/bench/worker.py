"""The same functions, offered to a Ganger pool."""

import functions
from ganger_worker import action

noop = action(functions.noop)
echo = action(functions.echo)
wait = action(functions.wait)
