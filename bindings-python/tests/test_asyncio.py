"""Awaiting calls."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import CallFailed, Pool, PoolClosed, ProcessPool


def test_a_call_can_be_awaited_more_than_once(shared_pool: Pool) -> None:
    async def main() -> None:
        future = shared_pool.submit("add", {"a": 1})
        assert await future == 2
        assert await future == 2
        assert await asyncio.wrap_future(shared_pool.submit("add", {"a": 2})) == 3
        with pytest.raises(CallFailed, match="no good"):
            await shared_pool.submit("fail")

    asyncio.run(main())


def test_a_thousand_calls_can_be_gathered(shared_pool: Pool) -> None:
    async def main() -> list[Any]:
        return await asyncio.gather(*[shared_pool.submit("add", {"a": n}) for n in range(1000)])

    assert asyncio.run(main()) == list(range(1, 1001))


def test_the_loop_goes_on_while_a_call_is_awaited(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def main() -> None:
        turns = 0
        task = asyncio.ensure_future(pool.submit("wait_for_file", str(gate)))
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
            if turns == 100:
                gate.touch()
        assert await task == "there"

    asyncio.run(main())


def test_a_cancelled_task_cancels_its_call(pool: Pool, tmp_path: Path) -> None:
    note = tmp_path / "note"

    async def main() -> None:
        future = pool.submit("cooperate", str(note))
        task = asyncio.ensure_future(future)
        while not Path(f"{note}.begun").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()

    asyncio.run(main())
    support.eventually(note.exists)


@pytest.mark.parametrize("way", ["wait_for", "timeout"])
def test_a_timeout_of_asyncio_cancels_the_call(pool: Pool, tmp_path: Path, way: str) -> None:
    note = tmp_path / "note"

    async def main() -> None:
        future = pool.submit("cooperate", str(note))
        await asyncio.to_thread(support.eventually, Path(f"{note}.begun").exists)
        with pytest.raises(TimeoutError):  # noqa: PT012
            if way == "wait_for":
                await asyncio.wait_for(future, 0.3)
            else:
                async with asyncio.timeout(0.3):
                    await future
        assert future.cancelled()

    asyncio.run(main())
    support.eventually(lambda: pool.calls() == [])
    # Its worker heard of it, and stopped.
    support.eventually(lambda: note.exists() and note.read_text() == "cancelled")


def test_a_task_group_takes_calls(pool: Pool) -> None:
    async def call(n: int) -> int:
        return int(await pool.submit("add", {"a": n}))

    async def main() -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(n)) for n in range(10)]
        return [task.result() for task in tasks]

    assert asyncio.run(main()) == list(range(1, 11))


def test_several_tasks_may_await_one_call(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def main() -> None:
        future = pool.submit("wait_for_file", str(gate))

        async def wait() -> object:
            return await future

        tasks = [asyncio.create_task(wait()) for _ in range(5)]
        await asyncio.sleep(0)
        gate.touch()
        assert await asyncio.gather(*tasks) == ["there"] * 5

    asyncio.run(main())


def test_several_loops_may_share_a_pool(shared_pool: Pool) -> None:
    async def main(base: int) -> list[Any]:
        return await asyncio.gather(*[shared_pool.submit("add", {"a": base + n}) for n in range(100)])

    answers: dict[int, list[Any]] = {}

    def run(base: int) -> None:
        answers[base] = asyncio.run(main(base))

    threads = [threading.Thread(target=run, args=(base,)) for base in range(0, 400, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {base: list(range(base + 1, base + 101)) for base in range(0, 400, 100)}


def test_a_loop_that_is_gone_does_not_matter(pool: Pool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    future = pool.submit("wait_for_file", str(gate))
    loop = asyncio.new_event_loop()

    async def wait() -> object:
        return await future

    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    gate.touch()
    assert future.result() == "there"
    del task
    assert pool.call("add", {"a": 1}) == 2


def test_a_pool_closes_without_blocking_the_loop() -> None:
    async def main() -> None:
        async with Pool(python=support.BASICS, workers=1) as pool:
            future = pool.submit("rest", 0.2)
        assert future.result(0) == "rested"
        assert pool.closed
        await pool.aclose()
        with pytest.raises(RuntimeError, match="out"):  # noqa: PT012
            async with Pool(python=support.BASICS, workers=1) as pool:
                future = pool.submit("spin", 1000.0)
                raise RuntimeError("out")
        assert isinstance(future.exception(support.LIMIT_S), PoolClosed)

    asyncio.run(main())


def test_a_process_pool_serves_run_in_executor() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with ProcessPool(1) as pool:
            assert await loop.run_in_executor(pool, pow, 2, 5) == 32

    asyncio.run(main())
