"""After every chaos test: no process, descriptor or socket file is left."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from ganger import Pool

import lookout


@pytest.fixture(scope="session")
def runtime_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where sockets with a path would lie."""
    directory = tmp_path_factory.mktemp("runtime")
    os.environ["XDG_RUNTIME_DIR"] = str(directory)
    # The first pool starts what a process has once: IO thread, spawner, reaper.
    with Pool(**lookout.KINDS["python"], workers=1) as first:
        first.call("size", "")
    return directory


@pytest.fixture(autouse=True)
def _nothing_is_left(runtime_directory: Path) -> Iterator[None]:
    before = lookout.descriptors()
    yield
    gc.collect()
    lookout.eventually(lambda: not lookout.children(), f"no process is left: {lookout.children()}")
    lookout.eventually(
        lambda: lookout.descriptors() <= before, f"no descriptor is left: {lookout.descriptors() - before}"
    )
    assert list(runtime_directory.iterdir()) == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(1800 if lookout.LONG else 180))
