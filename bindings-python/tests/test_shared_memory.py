"""Large payloads in shared memory: nothing is lost, and nothing changes under a reader."""

from __future__ import annotations

import gc
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import support
from ganger import Block, InvalidOption, Pool, WorkerCrashed
from test_behavior import LANGUAGES, worker_of

WORKER = """
import os, signal, time
from ganger_worker import action, context

@action
def same(x): return x

@action
def copied(x: bytes) -> bytes: return x

@action
def whole(x: memoryview): return x

@action
def head(x: memoryview) -> bytes: return bytes(x[:8])

@action
def made(size: int, byte: int) -> bytes: return bytes([byte]) * size

@action
def kind(x): return type(x).__name__

@action
def kill(x: memoryview): os.kill(os.getpid(), signal.SIGKILL)

@action
def once(x: memoryview) -> int:
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return x.nbytes

@action
def slow(x: memoryview) -> bytes:
    while not context.cancelled:
        time.sleep(0.01)
    return bytes(x)

kept = []

@action
def keep(x: memoryview): kept.append(x)

@action
def reverse(x: bytes) -> bytes: return x[::-1]

@action
def seen() -> bytes: return bytes(kept.pop()[:8])
"""
LARGE = 300_000


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    path = tmp_path / "shared.py"
    path.write_text(WORKER)
    return path


@pytest.fixture
def pool(worker: Path) -> Iterator[Pool]:
    with Pool(python=worker, workers=1, shared_memory="16MiB") as made:
        yield made


def used(pool: Pool) -> int:
    gc.collect()
    return pool.stats()["shared_memory"]["used"]


def data(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


SIZES = [0, 1, 131_071, 131_072, 131_073, LARGE, 1 << 20, 12 << 20, 40 << 20]


@pytest.mark.parametrize("shared_memory", ["256MiB", "1MiB", 0])
def test_every_size_arrives_as_it_is(worker: Path, shared_memory: str | int) -> None:
    with Pool(python=worker, workers=2, shared_memory=shared_memory) as pool:
        for size in SIZES:
            sent = data(size)
            for function in ("same", "copied", "whole"):
                assert pool.call(function, sent) == sent
            assert pool.call("same", [sent, {"x": sent}]) == [sent, {"x": sent}]
            assert pool.call("same", bytearray(sent)) == sent
        assert used(pool) == 0
        refused = pool.stats()["shared_memory"]["refused"]
        assert (refused > 0) == (shared_memory == "1MiB")


def test_an_input_without_room_is_counted_once(worker: Path) -> None:
    with Pool(python=worker, workers=1, shared_memory="1MiB") as pool:
        sent = data(2 << 20)
        block = pool.alloc(len(sent))
        for nth, value in enumerate([block, sent, bytearray(sent), memoryview(sent), [sent]], 1):
            assert len(pool.call("same", value)) > 0
            assert pool.stats()["shared_memory"]["refused"] == nth, type(value)


@pytest.mark.parametrize("shared_memory", ["256MiB", "1MiB", 0])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_takes_and_gives_large_payloads(language: str, shared_memory: str | int) -> None:
    with Pool(**worker_of(language), workers=1, concurrency=2, shared_memory=shared_memory) as pool:
        for round_ in range(3):
            for size in (131_071, 131_072, LARGE, 5 << 20):
                text = data(size, round_).hex()
                assert pool.call("echo", [text]) == [text]
                if language != "rust":  # its function takes what JSON can say
                    assert pool.call("echo", data(size, round_)) == data(size, round_)
        support.eventually(lambda: used(pool) == 0, "all given back")
        assert (pool.stats()["shared_memory"]["refused"] > 0) == (shared_memory == "1MiB")


def test_bytes_that_come_back_unchanged_are_copied_no_more(pool: Pool) -> None:
    sent = data(LARGE)
    for function in ("same", "copied"):
        assert pool.call(function, sent) is sent
        waited = pool.submit(function, sent).result()
        assert type(waited) is bytes
        assert waited == sent
    assert pool.call("same", bytearray(sent)) == sent
    assert pool.call("reverse", sent) == sent[::-1]
    assert pool.call("whole", sent) is not sent, "what comes back as a view is one"
    support.eventually(lambda: used(pool) == 0, "all given back")


@pytest.mark.parametrize("shared_memory", ["256MiB", 0])
def test_long_results_of_all_kinds_are_right(worker: Path, shared_memory: str | int) -> None:
    with Pool(python=worker, workers=1, shared_memory=shared_memory) as pool:
        for size in ((32 << 20) - 1, 32 << 20, (33 << 20) + 5):
            sent = data(1 << 20) * (size >> 20) + data(size % (1 << 20))
            assert pool.call("reverse", sent) == sent[::-1]
            assert pool.submit("same", sent).result() == sent


def test_what_goes_in_as_a_view_comes_out_as_one(pool: Pool) -> None:
    for size in (10, LARGE):
        sent = data(size)
        assert pool.call("kind", sent) == "bytes"
        assert pool.call("kind", memoryview(sent)) == "memoryview"
        assert type(pool.call("same", sent)) is bytes
        got = pool.call("same", memoryview(sent))
        assert type(got) is memoryview
        assert got == sent
        assert got.readonly


def test_a_view_outlives_call_worker_and_pool(worker: Path) -> None:
    sent = data(LARGE)
    with Pool(python=worker, workers=1) as pool:
        through = pool.call("whole", sent)
        made = pool.call("same", memoryview(pool.call("made", {"size": LARGE, "byte": 7})))
        pid = pool.stats()["details"][0]["pid"]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        support.eventually(lambda: pool.stats()["crashed"] == 1, "the worker is dead")
        assert pool.call("head", b"x" * LARGE) == b"x" * 8
    assert through == sent
    assert made == bytes([7]) * LARGE


def test_a_result_does_not_change_while_it_is_held(pool: Pool) -> None:
    held = [pool.call("same", memoryview(data(LARGE, seed))) for seed in range(10)]
    for seed in range(10, 30):
        pool.call("same", memoryview(data(LARGE, seed)))
    assert all(view == data(LARGE, seed) for seed, view in enumerate(held))
    del held
    assert used(pool) == 0


def test_an_input_does_not_change_while_the_worker_holds_it(pool: Pool) -> None:
    sent = data(LARGE)
    pool.call("keep", sent)
    for seed in range(2, 12):
        pool.call("same", data(LARGE, seed))
    assert used(pool) > 0
    assert pool.call("seen") == sent[:8]
    pool.call("kind", None)
    support.eventually(lambda: used(pool) == 0, "the worker gave it back")


def test_an_input_of_many_calls_lies_there_once(pool: Pool) -> None:
    payload = data(1 << 20)
    calls = [pool.submit("copied", payload) for _ in range(6)]
    taken = used(pool)
    assert 1 << 20 <= taken < 2 << 20, f"{taken} bytes"
    another = pool.submit("copied", data(1 << 20, 2))
    assert used(pool) >= 2 << 20
    assert [call.result() for call in calls] == [payload] * 6
    assert another.result() == data(1 << 20, 2)


def test_a_death_gives_back_what_the_worker_had(pool: Pool) -> None:
    pool.call("keep", data(LARGE))
    with pytest.raises(WorkerCrashed):
        pool.call("kill", data(LARGE))
    support.eventually(lambda: used(pool) == 0, "nothing is held for a dead worker")


def test_a_retry_uses_the_block_again(pool: Pool) -> None:
    assert pool.call("once", data(LARGE), idempotent=True, retries=1) == LARGE
    assert used(pool) == 0


def test_a_late_result_is_given_back(pool: Pool) -> None:
    call = pool.submit("slow", data(LARGE))
    support.eventually(call.running, "it runs")
    call.cancel()
    assert pool.call("head", data(LARGE)) == data(LARGE)[:8]
    support.eventually(lambda: used(pool) == 0, "cancelled and answered")


def test_many_at_once_beyond_what_there_is_room_for(worker: Path) -> None:
    with Pool(python=worker, workers=2, concurrency=4, shared_memory="2MiB") as pool:
        sent = [data(200_000 + n, n) for n in range(60)]
        futures = [pool.submit("same", memoryview(one)) for one in sent]
        assert all(future.result() == one for future, one in zip(futures, sent, strict=True))
        del futures
        support.eventually(lambda: used(pool) == 0, "all given back")


# --- blocks to fill in place


def test_a_block_is_filled_in_place_and_is_the_input(pool: Pool) -> None:
    for size in (0, 10, LARGE, 20 << 20):
        block = pool.alloc(size)
        assert isinstance(block, Block)
        assert len(block) == size
        memoryview(block)[:] = data(size)
        assert pool.call("copied", block) == data(size)
        assert pool.call("whole", block) == data(size)
        assert pool.submit("whole", block).result() == data(size)
        del block
    assert used(pool) == 0


def test_nobody_can_write_what_a_worker_reads(pool: Pool) -> None:
    block = pool.alloc(LARGE)
    view = memoryview(block)
    part = view[5:]
    with pytest.raises(BufferError, match="a writable view"):
        pool.call("whole", block)
    view.release()
    with pytest.raises(BufferError, match="a writable view"):
        pool.call("whole", block)
    part.release()
    pool.call("head", block)
    assert memoryview(block).readonly
    with pytest.raises(TypeError, match="read-only"):
        memoryview(block)[0:1] = b"x"


def test_a_block_outlives_its_pool(worker: Path) -> None:
    with Pool(python=worker, workers=1) as pool:
        block = pool.alloc(LARGE)
    memoryview(block)[:4] = b"here"
    assert bytes(memoryview(block)[:4]) == b"here"


def test_a_block_of_another_pool_is_copied(worker: Path, pool: Pool) -> None:
    with Pool(python=worker, workers=1) as other:
        block = other.alloc(LARGE)
        memoryview(block)[:] = data(LARGE)
        assert pool.call("copied", block) == data(LARGE)


def test_a_block_that_no_call_takes_is_given_back(pool: Pool) -> None:
    block = pool.alloc(LARGE)
    assert used(pool) >= LARGE
    del block
    assert used(pool) == 0


# --- the option


def test_the_size_is_an_option_and_a_figure(worker: Path) -> None:
    with Pool(python=worker, shared_memory="3MiB") as pool:
        assert pool.stats()["shared_memory"] == {"size": 3 << 20, "used": 0, "refused": 0}
    with Pool(python=worker, shared_memory=0) as pool:
        assert pool.stats()["shared_memory"] == {"size": 0, "used": 0, "refused": 0}
    wrong: Any = -1
    with pytest.raises(InvalidOption, match="shared_memory"):
        Pool(python=worker, shared_memory=wrong)


def test_nothing_grows_with_the_number_of_calls(pool: Pool) -> None:
    def maps() -> int:
        return len(Path("/proc/self/maps").read_text().splitlines())

    sent = data(LARGE)
    for _ in range(20):
        pool.call("same", memoryview(sent))
    before = (maps(), len(support.descriptors()))
    for _ in range(300):
        pool.call("same", memoryview(sent))
    gc.collect()
    after = (maps(), len(support.descriptors()))
    assert after[0] <= before[0] + 20
    assert after[1] <= before[1] + 2
