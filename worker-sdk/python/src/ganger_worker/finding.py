"""Where a module would come from, as importlib.util tells it, without importing that and what it needs."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec


def find_spec(name: str, path: Sequence[str] | None = None, without: object = None) -> ModuleSpec | None:
    """By the finders of the import system; ``path`` is its package's, none for a module at the top."""
    for finder in sys.meta_path:
        spec = None if finder is without else finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None
