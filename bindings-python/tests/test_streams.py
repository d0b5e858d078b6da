"""Items of a call as they come."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import (
    CallFailed,
    CallStream,
    CallTimeout,
    InvalidResult,
    NoSuchFunction,
    Pool,
    PoolClosed,
    QueueFull,
    WorkerCrashed,
)

STREAMS = str(support.WORKERS / "streams.py")
WINDOW = 64
MILLION = 1_000_000


@pytest.fixture(scope="module")
def streams() -> Iterator[Pool]:
    """For tests that break nothing."""
    with Pool(python=STREAMS, workers=2) as made:
        yield made


@pytest.fixture
def one() -> Iterator[Pool]:
    """One worker of one call."""
    with Pool(python=STREAMS, workers=1) as made:
        yield made


def is_free(pool: Pool) -> bool:
    return pool.calls() == [] and pool.stats()["running"] == 0


def read(stream: CallStream[Any], n: int) -> list[Any]:
    return list(itertools.islice(stream, n))


async def gathered(stream: CallStream[Any]) -> list[int]:
    return [item async for item in stream]


# --- items


@pytest.mark.parametrize("function", ["count", "count_async"])
def test_items_come_in_order_and_then_the_end(streams: Pool, function: str) -> None:
    assert list(streams.stream(function, 1000)) == list(range(1000))
    assert list(streams.stream(function, 0)) == []
    assert asyncio.run(gathered(streams.stream(function, 1000))) == list(range(1000))
    assert streams.call(function, 3) == [0, 1, 2]


def test_after_the_end_there_is_nothing_more(streams: Pool) -> None:
    stream = streams.stream("count", 1)
    assert (list(stream), list(stream)) == ([0], [])
    stream.close()
    assert list(stream) == []


def test_what_a_function_returns_is_the_value_of_the_loop(streams: Pool) -> None:
    def told(stream: CallStream[Any]) -> Iterator[Any]:
        yield (yield from stream)

    assert list(told(streams.stream("returns", 2))) == [0, 1, {"all": 2}]
    assert list(told(streams.stream("count", 1))) == [0, None]
    # One that gives one value yields nothing else.
    assert list(told(streams.stream("add", {"a": 1}))) == [2]
    assert streams.call("returns", 2) == [0, 1]


def test_large_items_come_whole(streams: Pool) -> None:
    size = 1 << 20
    for number, block in enumerate(streams.stream("blocks", {"n": 30, "size": size})):
        assert block == bytes([number]) * size


def test_an_error_comes_after_the_items_before_it(streams: Pool) -> None:
    stream = streams.stream("fails", 70)
    assert read(stream, 70) == list(range(70))
    with pytest.raises(CallFailed, match="out of tokens") as caught:
        next(stream)
    assert "yield from range(n)" not in str(caught.value.__cause__)
    assert list(stream) == []

    async def main() -> list[int]:
        found: list[int] = []
        stream = streams.stream("fails", 3)
        found += [await anext(stream) for _ in range(3)]
        with pytest.raises(CallFailed, match="out of tokens"):
            await anext(stream)
        assert [item async for item in stream] == []
        return found

    assert asyncio.run(main()) == [0, 1, 2]


def test_an_item_that_cannot_cross_is_told_as_such(streams: Pool) -> None:
    stream = streams.stream("odd")
    assert next(stream) == 1
    with pytest.raises(InvalidResult, match="object"):
        next(stream)


def test_what_cannot_begin_is_told_with_the_first_item(one: Pool) -> None:
    with pytest.raises(NoSuchFunction, match="cout"):
        next(one.stream("cout"))
    with Pool(python=STREAMS, workers=1, max_queue=1) as small:
        held = small.stream("never", 1)
        assert next(held) == 0
        waiting = small.stream("count", 1)
        with pytest.raises(QueueFull):
            next(small.stream("count", 1))
        held.close()
        assert list(waiting) == [0]


def test_a_worker_that_dies_ends_the_stream_after_its_items(one: Pool) -> None:
    stream = one.stream("dies", 3, idempotent=True)
    assert read(stream, 3) == [0, 1, 2]
    with pytest.raises(WorkerCrashed) as caught:
        next(stream)
    assert (caught.value.signal, caught.value.attempts) == ("SIGKILL", 1)
    assert one.call("add", {"a": 1}) == 2


def test_a_timeout_ends_the_stream_after_its_items(one: Pool) -> None:
    stream = one.stream("never", 2, timeout=1)
    assert read(stream, 2) == [0, 1]
    with pytest.raises(CallTimeout):
        next(stream)
    assert one.call("add", {"a": 1}) == 2


def test_a_pool_that_ends_ends_the_stream() -> None:
    pool = Pool(python=STREAMS, workers=1)
    stream = pool.stream("never", 1)
    assert next(stream) == 0
    pool.terminate()
    with pytest.raises(PoolClosed):
        next(stream)
    with pytest.raises(PoolClosed):
        pool.stream("count", 1)


# --- leaving


def breaks(pool: Pool, value: dict[str, Any]) -> list[int]:
    found: list[int] = []
    for item in pool.stream("count", value):
        found.append(item)
        if len(found) == 5:
            break
    return found


def closes(pool: Pool, value: dict[str, Any]) -> list[int]:
    stream = pool.stream("count", value)
    found = read(stream, 5)
    stream.close()
    assert list(stream) == []
    return found


def leaves_with(pool: Pool, value: dict[str, Any]) -> list[int]:
    with pool.stream("count_async", value) as stream:
        return read(stream, 5)


def raises(pool: Pool, value: dict[str, Any]) -> list[int]:
    found: list[int] = []

    def reads() -> None:
        with pool.stream("count", value) as stream:
            for item in stream:
                found.append(item)
                if len(found) == 5:
                    raise KeyError(item)

    with pytest.raises(KeyError):
        reads()
    return found


def forgets(pool: Pool, value: dict[str, Any]) -> list[int]:
    circle: list[Any] = [pool.stream("count", value)]
    circle.append(circle)
    found = read(circle[0], 5)
    del circle
    gc.collect()
    return found


def breaks_async(pool: Pool, value: dict[str, Any]) -> list[int]:
    async def main() -> list[int]:
        found: list[int] = []
        async for item in pool.stream("count_async", value):
            found.append(item)
            if len(found) == 5:
                break
        return found

    return asyncio.run(main())


def closes_async(pool: Pool, value: dict[str, Any]) -> list[int]:
    async def main() -> list[int]:
        async with pool.stream("count", value) as stream:
            return [await anext(stream) for _ in range(5)]

    return asyncio.run(main())


@pytest.mark.parametrize(
    "leave",
    [breaks, closes, leaves_with, raises, forgets, breaks_async, closes_async],
    ids=lambda leave: str(leave.__name__),
)
def test_of_a_million_items_five_are_read(
    one: Pool, tmp_path: Path, leave: Callable[[Pool, dict[str, Any]], list[int]]
) -> None:
    note = tmp_path / "note"
    worker = one.call("pid")
    assert leave(one, {"n": MILLION, "path": str(note)}) == [0, 1, 2, 3, 4]
    support.eventually(lambda: is_free(one), "the worker is free")
    made, cancelled = note.read_text().split()
    assert (int(made) <= WINDOW, cancelled) == (True, "True")
    assert one.call("pid") == worker


def test_a_cancelled_reader_cancels_the_call(one: Pool, tmp_path: Path) -> None:
    note = tmp_path / "note"

    async def main() -> None:
        stream = one.stream("never", {"n": 2, "path": str(note)})
        assert [await anext(stream), await anext(stream)] == [0, 1]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 0.05)
        assert [item async for item in stream] == []

    asyncio.run(main())
    support.eventually(lambda: is_free(one), "the worker is free")
    assert note.read_text() == "left True\n"


def test_a_stream_that_waits_in_the_queue_leaves_it(one: Pool) -> None:
    held = one.stream("never", 1)
    assert next(held) == 0
    waiting = one.stream("count", 1)
    assert len(one.calls()) == 2
    waiting.close()
    assert len(one.calls()) == 1
    held.close()
    support.eventually(lambda: is_free(one))


# --- backpressure


def test_a_slow_reader_holds_the_producer_and_memory_stays_flat() -> None:
    size, read_so_far = 64 * 1024, 0
    with Pool(python=STREAMS, workers=1, concurrency=2) as pool:
        stream = pool.stream("blocks", {"n": MILLION, "size": size})
        before = resident()
        for _ in range(40):
            read_so_far += len(read(stream, 50))
            assert pool.call("made_blocks") <= read_so_far + WINDOW
        assert resident() - before < 50 << 20  # 131 MB have come
        stream.close()


def test_a_reader_that_does_not_read_holds_up_nobody() -> None:
    with Pool(python=STREAMS, workers=1, concurrency=4) as pool:
        stalled = [pool.stream(name, MILLION) for name in ("count", "count_async")]
        for stream in stalled:
            assert next(stream) == 0
        assert [pool.call("add", {"a": n}) for n in range(100)] == list(range(1, 101))
        assert list(pool.stream("count", 1000)) == list(range(1000))
        for stream in stalled:
            stream.close()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


# --- readers


def test_the_loop_goes_on_while_an_item_is_awaited(one: Pool) -> None:
    async def main() -> None:
        stream = one.stream("never", 1)
        assert await anext(stream) == 0
        reader = asyncio.ensure_future(anext(stream))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not reader.done()
        with pytest.raises(RuntimeError, match="one reads it at a time"):
            await anext(stream)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader

    asyncio.run(main())


def test_loops_one_after_the_other_and_threads_read_the_same_stream(one: Pool) -> None:
    stream = one.stream("count", 300)

    async def some() -> list[int]:
        return [await anext(stream) for _ in range(100)]

    found = asyncio.run(some()) + asyncio.run(some())
    reader = threading.Thread(target=lambda: found.extend(stream))
    reader.start()
    reader.join()
    assert found == list(range(300))


def test_many_streams_in_one_loop() -> None:
    async def main() -> list[list[int]]:
        async with Pool(python=STREAMS, workers=2, concurrency=8) as pool:
            return await asyncio.gather(*[gathered(pool.stream("count_async", 200)) for _ in range(16)])

    assert asyncio.run(main()) == [list(range(200))] * 16


# --- into a call


def test_items_go_into_a_call(streams: Pool) -> None:
    for inputs in (range(1000), [*range(1000)], (n for n in range(1000)), iter(range(1000))):
        assert streams.call("total", inputs=inputs) == sum(range(1000))
    assert streams.submit("total_async", {"start": 5}, inputs=[1, 2]).result() == 8
    assert streams.call("total", inputs=[]) == 0
    assert list(streams.stream("doubles", inputs=range(500))) == list(range(0, 1000, 2))
    assert streams.call("doubles", inputs=range(3)) == [0, 2, 4]
    # Who sends nothing sends an empty stream.
    assert streams.call("total") == 0
    assert list(streams.stream("doubles")) == []


def test_a_source_that_is_no_generator_stays_open(streams: Pool, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nb\n")
    with open(tmp_path / "lines") as lines:
        assert streams.call("lengths", inputs=lines) == [2, 2]
        assert not lines.closed


def test_items_come_from_an_asynchronous_source(streams: Pool) -> None:
    async def source(n: int) -> AsyncIterator[int]:
        for number in range(n):
            if number % 100 == 0:
                await asyncio.sleep(0)
            yield number

    async def main() -> None:
        assert await streams.submit("total_async", inputs=source(1000)) == sum(range(1000))
        assert await gathered(streams.stream("doubles_async", inputs=source(500))) == list(range(0, 1000, 2))
        assert await gathered(streams.stream("doubles", inputs=range(500))) == list(range(0, 1000, 2))

    asyncio.run(main())
    with pytest.raises(TypeError, match="running event loop"):
        streams.stream("doubles", inputs=source(1))
    with pytest.raises(TypeError, match="'int', but must be an iterable"):
        streams.call("total", inputs=3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    assert streams.calls() == []


def test_each_answer_may_decide_what_is_sent_next(streams: Pool) -> None:
    news: asyncio.Queue[int] = asyncio.Queue()

    async def source() -> AsyncIterator[int]:
        while (item := await news.get()) < 1000:
            yield item

    async def main() -> list[int]:
        news.put_nowait(1)
        found: list[int] = []
        async for answer in streams.stream("doubles_async", inputs=source()):
            found.append(answer)
            news.put_nowait(answer)
        return found

    assert asyncio.run(main()) == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def test_a_source_is_pulled_no_faster_than_its_items_are_read(one: Pool, tmp_path: Path) -> None:
    gate, pulled = tmp_path / "gate", itertools.count()

    def source() -> Iterator[int]:
        for _ in range(1000):
            next(pulled)
            yield 1

    future = one.submit("total_after", {"gate": str(gate)}, inputs=source())
    support.eventually(lambda: one.stats()["running"] == 1)
    support.eventually(lambda: repr(pulled) >= f"count({WINDOW})")
    gate.touch()
    assert future.result() == 1000
    assert repr(pulled) == "count(1000)"


def test_a_source_whose_items_nobody_reads_is_held(one: Pool, tmp_path: Path) -> None:
    gate, pulled = tmp_path / "gate", 0

    def source() -> Iterator[int]:
        nonlocal pulled
        for pulled in range(1, MILLION):  # noqa: B007
            yield 1

    with one.stream("total_after", {"gate": str(gate)}, inputs=source()) as stream:
        support.eventually(lambda: pulled >= WINDOW)
        support.eventually(lambda: one.stats()["running"] == 1)
        # Would it go on, it would soon be far away.
        threading.Event().wait(0.1)
        assert pulled <= WINDOW + 1
        stream.close()
        gate.touch()


def test_a_source_whose_call_needs_no_more_is_closed(one: Pool) -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.set()

    assert one.call("first", {"n": 3}, inputs=source()) == [0, 1, 2]
    assert closed.wait(support.LIMIT_S)

    async def endless() -> AsyncIterator[int]:
        try:
            for number in itertools.count():
                yield number
            await asyncio.sleep(1000)
        finally:
            closed.set()

    async def main() -> None:
        closed.clear()
        assert await one.submit("first", {"n": 3}, inputs=endless()) == [0, 1, 2]
        while not closed.is_set():
            await asyncio.sleep(0.01)

    asyncio.run(main())


def test_what_a_source_raises_is_raised_and_the_function_sees_no_end(one: Pool, tmp_path: Path) -> None:
    note = tmp_path / "note"

    def begun(times: int) -> bool:
        return note.exists() and note.read_text().count("begun") == times

    def source() -> Iterator[int]:
        yield 1
        support.eventually(lambda: begun(1))
        raise LookupError("no more of this")

    async def source_async() -> AsyncIterator[int]:
        yield 1
        while not begun(2):
            await asyncio.sleep(0.01)
        raise LookupError("no more of this")

    async def main() -> None:
        with pytest.raises(LookupError, match="no more of this"):
            await one.submit("watch", {"path": str(note)}, inputs=source_async())
        with pytest.raises(LookupError, match="no more of this"):
            await gathered(one.stream("doubles_async", inputs=source_async()))

    with pytest.raises(LookupError, match="no more of this"):
        one.call("watch", {"path": str(note)}, inputs=source())
    with pytest.raises(LookupError, match="no more of this"):
        list(one.stream("doubles", inputs=source()))
    asyncio.run(main())
    support.eventually(lambda: is_free(one))
    assert note.read_text().split() == ["begun", "Cancelled"] * 2


def test_an_item_that_cannot_cross_fails_the_call(streams: Pool) -> None:
    from ganger import InvalidInput

    with pytest.raises(InvalidInput, match="object"):
        streams.call("total", inputs=[1, object()])
    with pytest.raises(InvalidInput, match=r"\$"):
        streams.call("total", inputs=[1, "two"])


# --- both ways


def test_much_goes_both_ways_at_once_with_calls_beside_it() -> None:
    size, blocks = 256 * 1024, 200  # 50 MB each way
    with Pool(python=STREAMS, workers=1, concurrency=4) as pool:
        sent = (bytes([number % 256]) * size for number in range(blocks))
        number = -1
        for number, block in enumerate(pool.stream("echoes", inputs=sent)):
            assert block == bytes([number % 256]) * size
            if number % 20 == 0:
                assert pool.call("add", {"a": number}) == number + 1
                with pool.stream("never", 1) as other:
                    assert next(other) == 0
        assert number == blocks - 1


# --- the app


def test_ctrl_c_ends_a_loop_over_a_stream() -> None:
    app = support.App(
        """
        try:
            with Pool(python=sys.argv[2], workers=1) as pool:
                for item in pool.stream("never", 1): say(item)
        except KeyboardInterrupt:
            say("interrupted")
        """,
        STREAMS,
    )
    assert app.line() == "0"
    app.interrupt()
    code, out, errors = app.ended()
    assert (code, out, errors) == (0, "interrupted\n", "")


def test_neither_a_stream_nor_its_source_holds_up_the_end() -> None:
    code, out, errors = support.run(
        """
        def source():
            yield 1
            threading.Event().wait()
        pool = Pool(python=sys.argv[2], workers=2, close_timeout=0.3)
        stream = pool.stream("doubles", inputs=source())
        other = pool.stream("count", 1000000)
        say(next(stream), next(other))
        """,
        STREAMS,
    )
    assert (code, out, errors) == (0, "2 0\n", "")


def test_a_forked_child_reads_nothing() -> None:
    code, out, errors = support.run(
        """
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(python=sys.argv[2], workers=1)
        stream = pool.stream("count", 1000)
        say(next(stream))
        if (child := os.fork()) == 0:
            for act in (lambda: next(stream), lambda: pool.stream("count", 1)):
                try: act()
                except ganger.Forked: say("Forked")
            stream.close()
            del stream
            os._exit(0)
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        say(sum(1 for _ in stream))
        pool.close()
        """,
        STREAMS,
    )
    assert (code, errors) == (0, "")
    assert out.split() == ["0", "Forked", "Forked", "0", "999"]
