"""The globals of the app's ``__main__``, as its functions see them here: one namespace for all calls.

Each function that comes brings along the globals that it uses, as they are in the app. What a function
assigned or changed here meanwhile stays, as in a process that had run the script; what changed in the app
comes in.
"""

from __future__ import annotations

import pickle

from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_namespace: Final[dict[str, Any]] = {}
# What came last under a name, and what it was like then if it is one of `_CONTAINERS`.
_came: Final[dict[str, tuple[object, bytes | None]]] = {}
_CONTAINERS: Final = (dict, list, set)
# Comparing larger ones costs more than sending them anew.
_LARGEST_COMPARED: Final = 1000


def shared(base: dict[str, Any]) -> dict[str, Any]:
    """The namespace, with what a module has anyway."""
    for name, value in base.items():
        _namespace.setdefault(name, value)
    return _namespace


def fill(function: object, state_and_setter: tuple[Any, Callable[[object, Any], object]]) -> None:
    """What cloudpickle does with a function's state, but for globals that were changed here."""
    (attributes, slots), setter = state_and_setter
    coming = cast("dict[str, Any]", slots["__globals__"])
    slots["__globals__"] = {name: _chosen(name, value) for name, value in coming.items()}
    setter(function, (attributes, slots))


def _chosen(name: str, coming: object) -> object:
    likeness = _likeness(coming)
    if name in _namespace and name in _came:
        here, (came, before) = _namespace[name], _came[name]
        is_old = likeness is not None and likeness == before
        if here is not came or is_old:
            return here
    _came[name] = (coming, likeness)
    return coming


def _likeness(value: object) -> bytes | None:
    if type(value) not in _CONTAINERS or len(cast("list[Any]", value)) > _LARGEST_COMPARED:
        return None
    try:
        return pickle.dumps(value)
    except Exception:
        return None
