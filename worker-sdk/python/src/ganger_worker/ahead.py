"""Imports at once what this package otherwise imports when it is needed.

For a worker whose own folder, first on the path, has files named like modules of the standard library.
"""

from __future__ import annotations

from . import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_STANDARD: Final = (
    "asyncio",
    "difflib",
    "importlib.util",
    "inspect",
    "logging",
    "pickle",
    "socket",
    "traceback",
)
_OWN: Final = ("reflection", "timestamps", "typing_rules")


def import_all() -> None:
    for name in (*_STANDARD, *(f"{__package__}.{own}" for own in _OWN)):
        __import__(name)
    values.use_msgspec()
