"""Forwards log records from the moment the user's code imports ``logging``; a worker without it need not."""

from __future__ import annotations

import sys

from .finding import find_spec
from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class LogWatch:
    """A finder that finds nothing but notices who asks for ``logging``."""

    def __init__(self, post: Callable[[bytes], None]) -> None:
        self._post = post
        self._code_is_loaded = False

    def begin(self) -> None:
        """Before the user's code is loaded."""
        if "logging" in sys.modules:
            self._logging_came()
        else:
            _finders().insert(0, self)

    def code_is_loaded(self) -> None:
        """From now on the root logger is the host's, unless the user's code has set up its own handlers."""
        self._code_is_loaded = True
        if "logging" in sys.modules:
            from . import logs

            logs.install_root(self._post)

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "logging":
            return None
        spec = find_spec(name, path, without=self)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Followed(spec.loader, self._logging_came))
        return spec

    def _logging_came(self) -> None:
        from . import logs

        if self in _finders():
            _finders().remove(self)
        logs.install_own(self._post)
        if self._code_is_loaded:
            logs.install_root(self._post)


class _Followed:
    """A loader after which something happens. It takes itself out, so that the module shows its real one."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()


def _finders() -> list[Any]:
    """Of the import system, which does without much of what its type says of them."""
    return sys.meta_path
