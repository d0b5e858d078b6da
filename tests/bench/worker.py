"""The same functions, offered to a Ganger pool."""

from ganger_worker import action

import functions

noop = action(functions.noop)
echo = action(functions.echo)
view = action(functions.view)
items = action(functions.items)
wait = action(functions.wait)
pid = action(functions.pid)
