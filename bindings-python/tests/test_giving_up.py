"""Giving up what asks every worker, and what waits for the pool as a whole."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

import pytest

import support
from ganger import CallTimeout, Pool
from ganger.awaiting import PoolFuture


def waiting() -> int:
    """Futures that somebody still holds, the core above all."""
    gc.collect()
    return sum(isinstance(each, PoolFuture) for each in gc.get_objects())


def test_cancelling_a_broadcast_cancels_its_calls() -> None:
    async def main(pool: Pool) -> None:
        broadcast = asyncio.ensure_future(pool.abroadcast("rest", 1000.0))
        while [call["state"] for call in pool.calls()] != ["running"] * 2:
            await asyncio.sleep(0.01)
        broadcast.cancel()
        with pytest.raises(asyncio.CancelledError):
            await broadcast
        assert (pool.calls(), pool.stats()["cancelled"]) == ([], 2)

    with Pool(python=support.BASICS, workers=2) as pool:
        pool.warm()
        asyncio.run(main(pool))
        pids = {answer.result() for answer in pool.broadcast("pid")}
        assert len(pids) == 2


def test_ctrl_c_cancels_a_broadcast() -> None:
    app = support.App("""
        with Pool(python=BASICS, workers=2) as pool:
            pool.warm()
            say("warm")
            try:
                pool.broadcast("rest", 1000.0)
            except KeyboardInterrupt:
                say("interrupted", pool.calls(), pool.stats()["cancelled"])
            say(len(pool.broadcast("pid")))
    """)
    assert app.line() == "warm"
    time.sleep(0.3)  # Into the wait.
    app.interrupt()
    assert app.ended() == (0, "interrupted [] 2\n2\n", "")


def test_the_timeout_of_a_broadcast_holds_for_each_worker() -> None:
    with Pool(python=support.BASICS, workers=2) as pool:
        pool.warm()
        answers = pool.broadcast("rest", 1000.0, timeout="100ms")
        assert [type(answer.error) for answer in answers] == [CallTimeout] * 2


def test_who_no_longer_waits_for_the_pool_is_forgotten(tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def main(pool: Pool) -> None:
        for wait in [pool.adrained, pool.aready]:
            for _ in range(10):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(wait(), 0.01)

    with Pool(python=support.BASICS, workers=2, max_queue=1) as pool:
        running = [pool.submit("wait_for_file", str(gate)) for _ in range(3)]
        before = waiting()
        asyncio.run(main(pool))
        support.eventually(lambda: waiting() == before)
        gate.touch()
        assert [each.result() for each in running] == ["there"] * 3
        asyncio.run(pool.adrained())
