"""Arrays and other buffers of a ``ProcessPool``: they arrive as they are, and writes stay private."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import arrays
import support
from ganger import InvalidOption, ProcessPool, WorkerCrashed
from ganger.buffers import SEPARATE_FROM, Kept, Pieces, laid_out, loads

LARGE = 300_000


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    with ProcessPool(1, shared_memory="32MiB") as made:
        yield made


def used(pool: ProcessPool) -> int:
    gc.collect()
    return pool.stats()["shared_memory"]["used"]


def number(size: int, seed: int = 1, dtype: str = "uint8") -> Any:
    return np.random.default_rng(seed).integers(0, 200, size).astype(dtype)


def same(got: Any, sent: Any) -> bool:
    return bool(
        type(got) is type(sent)
        and got.dtype == sent.dtype
        and got.shape == sent.shape
        and got.flags["F_CONTIGUOUS"] == sent.flags["F_CONTIGUOUS"]
        and (got.tolist() if sent.dtype == object else got.tobytes())
        == (sent.tolist() if sent.dtype == object else sent.tobytes())
    )


RECORD = np.dtype([("name", "U8"), ("at", "f8"), ("of", "i4", (3,))])
SHAPES = {
    "bytes": number(LARGE),
    "small": number(100),
    "at the limit": number(SEPARATE_FROM),
    "below it": number(SEPARATE_FROM - 1),
    "floats": number(LARGE, dtype="float64").reshape(100, 50, 60),
    "half": number(LARGE, dtype="float16"),
    "complex": number(LARGE, dtype="complex128"),
    "flags": number(LARGE) > 100,
    "other end first": number(LARGE, dtype=">i4"),
    "Fortran": np.asfortranarray(number(LARGE, dtype="float32").reshape(300, 1000)),
    "with gaps": number(LARGE).reshape(300, 1000)[::2, ::3],
    "no dimension": np.array(5.5),
    "nothing": np.empty((0, 7)),
    "one": np.ones((1, 1)),
    "structured": np.zeros(5000, RECORD),
    "texts": number(20_000).astype("U12"),
    "moments": number(LARGE).astype("datetime64[s]"),
    "objects": np.array([{"x": 1}, None, "text"] * 10, dtype=object),
}


@pytest.mark.parametrize("shared_memory", ["256MiB", "1MiB", 0])
def test_every_kind_of_array_arrives_as_it_is(shared_memory: Any) -> None:
    with ProcessPool(1, shared_memory=shared_memory) as pool:
        for name, sent in SHAPES.items():
            got = pool.submit(arrays.echo, sent).result()
            assert same(got, sent.copy() if name == "with gaps" else sent), name
            assert got.flags.writeable, name
            got = None
        all_at_once = pool.submit(arrays.echo, SHAPES).result()
        assert list(all_at_once) == list(SHAPES)
        assert all((all_at_once[name] == SHAPES[name]).all() for name in SHAPES)
        del all_at_once
        assert used(pool) == 0


@pytest.mark.parametrize("shared_memory", ["256MiB", "1MiB", 0])
def test_byte_strings_of_every_size(shared_memory: Any) -> None:
    with ProcessPool(1, shared_memory=shared_memory) as pool:
        for size in (0, 1, 65_535, 65_536, 131_072, LARGE, 5 << 20):
            sent = number(size).tobytes()
            for value in (sent, bytearray(sent), [sent, bytearray(sent), sent.hex()], {"x": (sent,)}):
                got = pool.submit(arrays.echo, value).result()
                assert type(got) is type(value)
                assert got == value
        taken = bytearray(LARGE)
        pool.submit(arrays.echo, taken).result()
        taken.append(1)  # nobody looks at it any more
        assert used(pool) == 0


def test_what_is_one_object_stays_one(pool: ProcessPool) -> None:
    sent = number(LARGE)
    first, second = pool.submit(arrays.echo, (sent, sent)).result()
    assert first is second


def test_what_cannot_be_written_stays_so(pool: ProcessPool) -> None:
    sent = number(LARGE)
    sent.flags.writeable = False
    assert pool.submit(arrays.is_writable, sent).result() is False
    assert not pool.submit(arrays.echo, sent).result().flags.writeable


# --- writing


@pytest.mark.parametrize("shared_memory", ["32MiB", 0])
def test_a_worker_writes_to_what_is_its_own(shared_memory: Any) -> None:
    with ProcessPool(1, shared_memory=shared_memory) as pool:
        for seed in range(20):
            sent = number(LARGE, seed)
            before = sent.copy()
            assert pool.submit(arrays.is_writable, sent).result()
            # The block that the worker wrote to serves the next call, which has to see its own bytes.
            assert (pool.submit(arrays.negated, sent).result() == 255 - before).all()
            assert (sent == before).all()
            assert pool.submit(arrays.total, sent).result() == int(before.sum())
        assert used(pool) == 0


def test_calls_side_by_side_do_not_see_each_others_writes() -> None:
    with ProcessPool(1, concurrency=4, shared_memory="32MiB") as pool:
        sent = number(LARGE)
        futures = [pool.submit(arrays.filled, sent, n) for n in range(40)]
        assert [future.result() for future in futures] == [(int(sent.sum()), n * LARGE) for n in range(40)]
        del futures
        support.eventually(lambda: used(pool) == 0, "all given back")


def test_results_can_be_written_and_are_nobody_elses(pool: ProcessPool) -> None:
    held = [pool.submit(arrays.echo, number(LARGE, seed)).result() for seed in range(10)]
    for array in held:
        array += 1
    for seed in range(10, 30):
        assert (pool.submit(arrays.echo, number(LARGE, seed)).result() == number(LARGE, seed)).all()
    assert all((array == number(LARGE, seed) + 1).all() for seed, array in enumerate(held))


def test_results_outlive_worker_and_pool() -> None:
    with ProcessPool(1) as pool:
        held = [pool.submit(arrays.echo, number(LARGE, seed)).result() for seed in range(3)]
        pid = pool.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)
        support.eventually(lambda: pool.stats()["crashed"] == 1, "the worker is dead")
        held.append(pool.submit(arrays.echo, number(LARGE, 3)).result())
    gc.collect()
    for seed, array in enumerate(held):
        assert (array == number(LARGE, seed)).all()
        array[:] = seed
        assert array.sum() == seed * LARGE


# --- lifetimes


def test_a_worker_keeps_an_array_past_its_call(pool: ProcessPool) -> None:
    sent = number(LARGE)
    pool.submit(arrays.keep, sent).result()
    for seed in range(2, 12):
        pool.submit(arrays.negated, number(LARGE, seed)).result()
    assert used(pool) > 0
    assert (pool.submit(arrays.kept).result() == sent).all()
    pool.submit(abs, -1).result()
    support.eventually(lambda: used(pool) == 0, "the worker gave it back")


def test_a_worker_that_keeps_very_many_copies_them(pool: ProcessPool) -> None:
    for seed in range(100):
        pool.submit(arrays.keep, number(140_000, seed)).result()
    for seed in reversed(range(100)):
        assert (pool.submit(arrays.kept).result() == number(140_000, seed)).all()
    pool.submit(abs, -1).result()
    support.eventually(lambda: used(pool) == 0, "the worker gave it back")


def test_an_array_in_a_cycle_is_given_back_too(pool: ProcessPool) -> None:
    for seed in range(20):
        assert pool.submit(arrays.tied, number(LARGE, seed)).result() == LARGE
    pool.submit(gc.collect).result()
    pool.submit(abs, -1).result()
    support.eventually(lambda: used(pool) == 0, "the worker gave it back")


def test_a_call_that_fails_and_one_that_dies_give_back(pool: ProcessPool) -> None:
    with pytest.raises(ZeroDivisionError):
        pool.submit(arrays.fail, number(LARGE)).result()
    with pytest.raises(WorkerCrashed):
        pool.submit(arrays.die, number(LARGE)).result()
    pool.submit(abs, -1).result()
    support.eventually(lambda: used(pool) == 0, "nothing is held")


def test_a_forked_child_keeps_what_its_parent_gives_back(pool: ProcessPool) -> None:
    for seed in range(3):
        sent = number(LARGE, seed)
        look = pool.submit(arrays.fork_with, sent).result()
        for other in range(10, 20):
            pool.submit(arrays.negated, number(LARGE, other)).result()
        assert pool.submit(arrays.ask, look).result() == int(sent.sum())


def test_many_at_once_beyond_what_there_is_room_for() -> None:
    with ProcessPool(2, concurrency=4, shared_memory="2MiB") as pool:
        sent = [number(200_000 + n, n) for n in range(60)]
        futures = [pool.submit(arrays.negated, one) for one in sent]
        assert all((future.result() == 255 - one).all() for future, one in zip(futures, sent, strict=True))
        del futures
        support.eventually(lambda: used(pool) == 0, "all given back")
        assert pool.stats()["shared_memory"]["refused"] > 0


def test_arrays_of_a_map(pool: ProcessPool) -> None:
    rows = number(2_000_000).reshape(50, -1)
    doubled = pool.map(arrays.negated, rows, chunksize=7)
    assert all((got == 255 - row).all() for got, row in itertools.zip_longest(doubled, rows))


def test_functions_by_value_take_arrays_too(pool: ProcessPool) -> None:
    factor = number(LARGE)

    def scaled(x: Any) -> Any:
        return x * factor

    assert (pool.submit(scaled, number(LARGE, 2)).result() == number(LARGE, 2) * factor).all()


def test_an_error_carries_arrays(pool: ProcessPool) -> None:
    with pytest.raises(ValueError, match="with an array") as caught:
        pool.submit(arrays.fail_with, number(LARGE)).result()
    assert (caught.value.args[1] == number(LARGE)).all()


def test_buffers_of_other_types(pool: ProcessPool) -> None:
    sent = arrays.Parcel(bytearray(number(LARGE)))
    got = pool.submit(arrays.echo, sent).result()
    assert bytes(got.data) == sent.data
    got.data[0] = 1
    assert (pool.submit(arrays.first, sent).result()) == sent.data[0]


# --- the rest


def test_the_size_of_shared_memory_is_an_option() -> None:
    with ProcessPool(1, shared_memory="3MiB") as pool:
        assert pool.stats()["shared_memory"]["size"] == 3 << 20
    wrong: Any = -1
    with pytest.raises(InvalidOption, match="shared_memory"):
        ProcessPool(1, shared_memory=wrong)


def test_nothing_grows_with_the_number_of_calls(pool: ProcessPool) -> None:
    sent = number(LARGE)
    for _ in range(20):
        pool.submit(arrays.negated, sent).result()
    before = (len(support.descriptors()), pool.submit(arrays.descriptors).result())
    for _ in range(200):
        pool.submit(arrays.negated, sent).result()
    after = (len(support.descriptors()), pool.submit(arrays.descriptors).result())
    assert after[0] <= before[0] + 2
    assert after[1] <= before[1] + 2


def test_the_package_itself_does_not_import_numpy() -> None:
    script = "import sys, ganger; ganger.ProcessPool; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_pickle_that_is_cut_is_refused() -> None:
    pieces, kept = Pieces(), Kept()
    pickle.Pickler(pieces, 5, buffer_callback=kept).dump([number(LARGE), "end"])
    whole = b"".join(laid_out(pieces, kept))
    assert (loads(whole)[0] == number(LARGE)).all()
    for cut in (1, 7, 8, 30, 60, len(whole) - 1):
        with pytest.raises(Exception, match=r"buffer|unpack|pickle|iterative"):
            loads(whole[:cut])
