"""How far a call is."""

from __future__ import annotations

import asyncio
import logging
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import CallFailed, Pool, Progress

STREAMS = str(support.WORKERS / "streams.py")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(python=STREAMS, workers=1) as made:
        yield made


def rises(told: list[Progress]) -> bool:
    return [it.done for it in told] == sorted({it.done for it in told})


def test_a_callback_hears_the_last_word_before_the_call_returns(pool: Pool) -> None:
    for n in (1, 3, 10_000):
        told: list[Progress] = []
        assert pool.call("steps", n, on_progress=told.append) == "done"
        assert told[-1] == Progress(done=n, total=n, note=f"step {n}")
        assert rises(told)


def test_of_a_call_that_fails_too(pool: Pool) -> None:
    told: list[Progress] = []
    with pytest.raises(CallFailed, match="no good"):
        pool.call("steps", {"n": 5, "fail": True}, on_progress=told.append)
    assert told[-1].done == 5


def test_a_future_and_a_stream_tell_it_as_well(pool: Pool) -> None:
    told: list[Progress] = []
    assert pool.submit("steps", 3, on_progress=told.append).result() == "done"
    assert told[-1].done == 3

    async def main() -> None:
        assert await pool.submit("steps", 4, on_progress=told.append) == "done"

    asyncio.run(main())
    assert told[-1].done == 4
    told.clear()
    for item in pool.stream("steps_between", 5, on_progress=told.append):
        assert item <= 5
    assert told[-1] == Progress(done=5, total=5, note=None)
    assert pool.call("total", inputs=[1, 2], on_progress=told.append) == 3


def test_it_comes_while_the_call_runs(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    code = """
    import pathlib, time
    from ganger_worker import action, context

    @action
    def waits(gate: str) -> None:
        context.progress(1)
        while not pathlib.Path(gate).exists():
            time.sleep(0.01)
    """
    (tmp_path / "waits.py").write_text("\n".join(line[4:] for line in code.splitlines()))
    with Pool(python=str(tmp_path / "waits.py"), workers=1) as pool:
        pool.call("waits", {"gate": str(gate)}, on_progress=lambda _told: gate.touch())


def test_a_callback_that_raises_disturbs_nothing(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    def fails(_progress: Progress) -> None:
        raise ValueError("in the callback")

    with caplog.at_level(logging.WARNING, "ganger"):
        assert pool.call("steps", 3, on_progress=fails) == "done"
    assert "in the callback" in caplog.text
    assert pool.submit("add", {"a": 1}).result() == 2


class Bar:
    """Stands for tqdm's."""

    made: list[Bar]

    def __init__(self, iterable: Any = (), *, desc: str, total: float | None) -> None:
        self.iterable = iterable
        self.desc, self.total, self.n, self.note, self.open = desc, total, 0.0, "", True
        Bar.made.append(self)

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            self.n += 1
            yield item
        self.close()

    def set_postfix_str(self, note: str, refresh: bool) -> None:
        assert not refresh
        self.note = note

    def update(self, more: float) -> None:
        assert self.open
        self.n += more

    def close(self) -> None:
        self.open = False


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    module: Any = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    Bar.made = []
    return Bar.made


def test_a_bar_shows_it(pool: Pool, bars: list[Bar]) -> None:
    told: list[Progress] = []
    pool.call("steps", 3, progress=True, on_progress=told.append)
    [bar] = bars
    assert (bar.desc, bar.n, bar.total, bar.note, bar.open) == ("steps", 3, 3, "step 3", False)
    assert told[-1].done == 3
    assert list(pool.stream("steps_between", 3, progress=True)) == [1, 2, 3]
    stream = pool.stream("steps_between", 1000, progress=True)
    next(stream)
    stream.close()
    future = pool.submit("never", 1, progress=True)
    future.cancel()
    assert [bar.open for bar in bars] == [False] * 4


def test_a_bar_shows_the_results_of_map(pool: Pool, bars: list[Bar]) -> None:
    inputs = [{"a": n} for n in range(5)]
    assert list(pool.map("add", inputs, progress=True)) == [1, 2, 3, 4, 5]
    assert sorted(pool.map_unordered("add", iter(inputs), progress=True)) == [1, 2, 3, 4, 5]
    assert [(bar.desc, bar.total, bar.n, bar.open) for bar in bars] == [
        ("add", 5, 5, False),
        ("add", None, 5, False),
    ]


def test_a_bar_without_tqdm_is_refused_before_the_call(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        pool.call("steps", 3, progress=True)
    with pytest.raises(ImportError, match="pip install tqdm"):
        pool.map("add", [{"a": 1}], progress=True)
    assert pool.calls() == []
