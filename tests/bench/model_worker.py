"""The same functions, offered to a Ganger pool."""

from ganger_worker import action, startup

import model

startup(model.load)
answer = action(model.answer)
