"""Pools for the tests, and a look around at the end: nothing may be left."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import support
from ganger import Pool

# A suite that runs in the background of a shell ignores Ctrl-C, and so would the apps that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _with_little_memory() -> None:
    """So that each suite can be run with none (``GANGER_TEST_SHARED_MEMORY=0``) or little (``1MiB``)."""
    memory = os.environ.get("GANGER_TEST_SHARED_MEMORY")
    if memory is None:
        return
    size: int | str = 0 if memory == "0" else memory
    original: Any = Pool.__init__

    def init(self: Pool, **options: Any) -> None:
        original(self, **{"shared_memory": size, **options})

    Pool.__init__ = init  # type: ignore[method-assign]


_with_little_memory()


@pytest.fixture
def pool() -> Iterator[Pool]:
    """Two workers of one call each."""
    with Pool(python=support.BASICS, workers=2) as made:
        yield made


@pytest.fixture(scope="session")
def shared_pool() -> Iterator[Pool]:
    """For tests that only call; nobody breaks it."""
    with Pool(python=support.BASICS, workers=2, name="shared") as made:
        yield made


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Where endpoints have their sockets: a place of our own, to see what stays there.
    runtime_directory = tmp_path_factory.mktemp("runtime")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime_directory)
    # The first pool starts what a process has once: IO thread, spawner, reaper.
    with Pool(python=support.BASICS, workers=1) as first:
        first.call("nothing")
    before = set(support.descriptors().values())
    yield
    gc.collect()
    support.eventually(lambda: not left(support.children()), f"no worker is left: {support.children()}")
    support.eventually(
        lambda: not new_descriptors(before), f"no descriptor is left: {new_descriptors(before)}"
    )
    assert list(runtime_directory.iterdir()) == []


def left(children: dict[int, str]) -> list[str]:
    """All but the reaper, of which there is one as long as the process lives."""
    return [command for command in children.values() if "ganger-shim reap" not in command]


def new_descriptors(before: set[str]) -> list[str]:
    kinds = ("socket:", "pipe:", "anon_inode:[pidfd]", "/memfd:")
    return [link for link in support.descriptors().values() if link.startswith(kinds) and link not in before]


def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(120))
