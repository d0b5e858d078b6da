"""A full queue that is waited for."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

import support
from ganger import Pool, QueueFull


def test_submitting_waits_for_room_in_order(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1, max_queue=1, when_full="wait") as pool:
        running = pool.submit("wait_for_file", str(gate))
        support.eventually(running.running)
        pool.submit("nothing")
        results: list[int] = []

        def submit() -> None:
            for n in range(20):
                results.append(pool.submit("add", {"a": n}).result())

        thread = threading.Thread(target=submit)
        thread.start()
        support.eventually(lambda: len(pool.calls()) == 3)
        assert results == []
        gate.touch()
        thread.join(support.LIMIT_S)
        assert results == list(range(1, 21))
        # All at once as well: none is refused.
        futures = [pool.submit("add", {"a": n}) for n in range(200)]
        assert [future.result() for future in futures] == list(range(1, 201))
        assert list(pool.map("add", ({"a": n} for n in range(50)), window=50)) == list(range(1, 51))


def test_a_call_waits_as_well_and_both_give_up_after_full_timeout(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with Pool(python=support.BASICS, workers=1, max_queue=1, when_full="wait", full_timeout=0.1) as pool:
        running = pool.submit("wait_for_file", str(gate))
        support.eventually(running.running)
        pool.submit("nothing")
        with pytest.raises(QueueFull) as caught:
            pool.call("nothing")
        assert (caught.value.started, caught.value.safe_to_repeat) == ("no", True)
        begun = time.monotonic()
        refused = pool.submit("nothing")
        assert time.monotonic() - begun >= 0.09
        assert isinstance(refused.exception(0), QueueFull)
        gate.touch()
        assert pool.call("add", {"a": 1}) == 2


def test_in_an_event_loop_only_the_future_waits(tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def main() -> None:
        async with Pool(python=support.BASICS, workers=1, max_queue=1, when_full="wait") as pool:
            futures = [pool.submit("wait_for_file", str(gate))]
            futures += [pool.submit("add", {"a": n}) for n in range(50)]
            assert not any(future.done() for future in futures)
            given_up = pool.submit("nothing")
            assert given_up.cancel()
            gate.touch()
            assert await asyncio.gather(*futures) == ["there", *range(1, 51)]

    asyncio.run(main())


def test_ctrl_c_gives_a_call_up_that_waits_for_room() -> None:
    app = support.App("""
        with Pool(python=BASICS, workers=1, max_queue=1, when_full="wait") as pool:
            running = pool.submit("rest", 1000.0)
            while not running.running(): time.sleep(0.01)
            waiting = pool.submit("nothing")
            say("full")
            try:
                pool.submit("nothing")
            except KeyboardInterrupt:
                say("interrupted", len(pool.calls()))
            running.cancel()
            say(pool.call("add", {"a": 1}))
    """)
    assert app.line() == "full"
    time.sleep(0.3)  # Into the wait.
    app.interrupt()
    assert app.ended() == (0, "interrupted 2\n2\n", "")
