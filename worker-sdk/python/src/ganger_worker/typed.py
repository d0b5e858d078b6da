"""What code uses of ``typing`` while it runs, without its import, which would double the time of a start.

For the same reason the modules that every worker loads import under ``TYPE_CHECKING`` what only their
annotations name, and where it is first needed what only some need: msgspec, inspect, logging, asyncio….
"""

from __future__ import annotations

TYPE_CHECKING = False  # both checkers know this name and take it for true

if TYPE_CHECKING:
    from typing import cast, overload
else:

    def cast(_kind, value):
        return value

    def overload(function):
        return function


__all__ = ["cast", "overload"]
