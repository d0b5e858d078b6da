"""Loads the user's code: TARGET is a file, a folder, or the name of a module."""

from __future__ import annotations

import os
import sys

from .finding import find_spec
from .function import offered, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

    from .function import Function

_NOT_THE_USERS = (sys.stdlib_module_names | {"cloudpickle", "msgspec"}) - {"test"}
_MODULE_ENDINGS = (".py", ".pyc", ".pyd", ".so")


class BadTarget(Exception):
    """TARGET names nothing that can be loaded."""


class Functions:
    """The worker's functions by name. A name may have an alias that READY does not list."""

    def __init__(self) -> None:
        self.by_name: dict[str, Function] = {}
        self.contracts: list[dict[str, object]] = []

    def offer(self, name: str, target: Callable[..., Any], alias: str | None = None) -> None:
        if name in self.by_name:
            raise BadTarget(f"two functions are named '{name}'")
        function, contract = offered(name, target)
        self.by_name[name] = function
        self.contracts.append(contract)
        if alias is not None:
            self.by_name.setdefault(alias, function)


def load(target: str) -> Functions:
    if os.path.isdir(target):
        return _folder(os.path.realpath(target))
    if os.path.isfile(target):
        return _single(_file(os.path.realpath(target)), _stem(target))
    if target.endswith(".py") or os.sep in target:
        raise BadTarget(f"there is no file or folder {target}")
    _first_on_path(os.getcwd())
    return _single(_by_name(target), target)


def _single(module: ModuleType, stem: str) -> Functions:
    """One file or module: bare names, and the qualified ones as well."""
    functions = Functions()
    for name, function in _actions(module, imported_too=True):
        functions.offer(name, function, alias=None if "." in name else f"{stem}.{name}")
    return functions


def _folder(folder: str) -> Functions:
    """Each file of the folder is a module, those of subfolders are ``a.b``."""
    prefix = ""
    if _is_package(folder):
        # A package: its modules may import each other relatively, so they are loaded as parts of it.
        prefix = f"{os.path.basename(folder)}."
        _first_on_path(os.path.dirname(folder))
    _first_on_path(folder)
    functions = Functions()
    for name, path in _modules(folder):
        full_name = prefix + name if name else os.path.basename(folder)
        for function_name, function in _actions(_import(full_name, path), imported_too=False):
            qualified = function_name if "." in function_name or not name else f"{name}.{function_name}"
            functions.offer(qualified, function)
    return functions


def _modules(folder: str) -> Iterator[tuple[str, str]]:
    """``(dotted name, file)`` in order of name; what begins with ``_`` or ``.`` is private to the folder."""
    if _is_package(folder):
        yield "", os.path.join(folder, "__init__.py")
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        if entry.startswith(("_", ".")):
            continue
        if entry.endswith(".py") and os.path.isfile(path):
            yield _stem(entry), path
        elif entry.isidentifier() and os.path.isdir(path):
            for name, inside in _modules(path):
                yield f"{entry}.{name}" if name else entry, inside


def _is_package(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _file(path: str) -> ModuleType:
    _first_on_path(os.path.dirname(path))
    return _import(_stem(path), path)


def _import(name: str, path: str) -> ModuleType:
    """Imports by name where the name leads to this file, so that what it defines can be pickled by name."""
    known = sys.modules.get(name)
    if known is not None and _is_from(known, path):
        return known
    if known is None and name.replace(".", "_").isidentifier() and _leads_to(name, path):
        return _by_name(name)
    # The name belongs to another module (a file called json.py) or cannot be imported (my-file.py).
    return _import_apart(f"_ganger_{name.replace('.', '_')}", path)


def _by_name(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]


def _leads_to(name: str, path: str) -> bool:
    package, _, _ = name.rpartition(".")
    try:
        found = find_spec(name, _by_name(package).__path__ if package else None)
    except (AttributeError, ImportError, ValueError):
        return False
    return found is not None and found.origin is not None and os.path.realpath(found.origin) == path


def _import_apart(name: str, path: str) -> ModuleType:
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadTarget(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_from(module: ModuleType, path: str) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and os.path.realpath(origin) == path


def _first_on_path(folder: str) -> None:
    if _hides_others(folder):
        from .ahead import import_all

        import_all()  # before the folder comes between
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)


def _hides_others(folder: str) -> bool:
    """Whether a module here has the name of one that this package may still import (a token.py, say)."""
    try:
        entries = os.listdir(folder)
    except OSError:  # not to be listed, yet files in it may be read
        return True
    return any(
        entry.partition(".")[0] in _NOT_THE_USERS
        and (entry.endswith(_MODULE_ENDINGS) or _is_package(os.path.join(folder, entry)))
        for entry in entries
    )


def _actions(module: ModuleType, *, imported_too: bool) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The decorated functions of a module in order of definition."""
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        options = options_of(value)
        if options is None or isinstance(value, type) or id(value) in seen:
            continue
        if imported_too or getattr(value, "__module__", module.__name__) == module.__name__:
            seen.add(id(value))
            yield options.name or name, value
