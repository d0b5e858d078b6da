"""Loads the user's code: TARGET is a file, a folder, or the name of a module."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .function import Function, options_of


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
        function = Function(name, target)
        self.by_name[name] = function
        self.contracts.append(function.contract)
        if alias is not None:
            self.by_name.setdefault(alias, function)


def load(target: str) -> Functions:
    path = Path(target)
    if path.is_dir():
        return _folder(path.resolve())
    if path.is_file():
        return _single(_file(path.resolve()), path.stem)
    if target.endswith(".py") or os.sep in target:
        raise BadTarget(f"there is no file or folder {target}")
    _first_on_path(Path.cwd())
    return _single(importlib.import_module(target), target)


def _single(module: ModuleType, stem: str) -> Functions:
    """One file or module: bare names, and the qualified ones as well."""
    functions = Functions()
    for name, function in _actions(module, imported_too=True):
        functions.offer(name, function, alias=None if "." in name else f"{stem}.{name}")
    return functions


def _folder(folder: Path) -> Functions:
    """Each file of the folder is a module, those of subfolders are ``a.b``."""
    prefix = ""
    if (folder / "__init__.py").exists():
        # A package: its modules may import each other relatively, so they are loaded as parts of it.
        prefix = f"{folder.name}."
        _first_on_path(folder.parent)
    _first_on_path(folder)
    functions = Functions()
    for name, path in _modules(folder):
        full_name = prefix + name if name else folder.name
        for function_name, function in _actions(_import(full_name, path), imported_too=False):
            qualified = function_name if "." in function_name or not name else f"{name}.{function_name}"
            functions.offer(qualified, function)
    return functions


def _modules(folder: Path) -> Iterator[tuple[str, Path]]:
    """``(dotted name, file)`` in order of name; what begins with ``_`` or ``.`` is private to the folder."""
    if (folder / "__init__.py").exists():
        yield "", folder / "__init__.py"
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("_", ".")):
            continue
        if path.is_file() and path.suffix == ".py":
            yield path.stem, path
        elif path.is_dir() and path.name.isidentifier():
            for name, inside in _modules(path):
                yield f"{path.name}.{name}" if name else path.name, inside


def _file(path: Path) -> ModuleType:
    _first_on_path(path.parent)
    return _import(path.stem, path)


def _import(name: str, path: Path) -> ModuleType:
    """Imports by name where the name leads to this file, so that what it defines can be pickled by name."""
    known = sys.modules.get(name)
    if known is not None and _is_from(known, path):
        return known
    if known is None and name.replace(".", "_").isidentifier() and _leads_to(name, path):
        return importlib.import_module(name)
    # The name belongs to another module (a file called json.py) or cannot be imported (my-file.py).
    return _import_apart(f"_ganger_{name.replace('.', '_')}", path)


def _leads_to(name: str, path: Path) -> bool:
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return found is not None and found.origin is not None and Path(found.origin).resolve() == path


def _import_apart(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadTarget(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_from(module: ModuleType, path: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == path


def _first_on_path(folder: Path) -> None:
    text = str(folder)
    if text in sys.path:
        sys.path.remove(text)
    sys.path.insert(0, text)


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
