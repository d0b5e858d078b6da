"""Pickles whose buffers lie beside them (SPEC 2.4), in frames and over real arenas."""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import notation
from ganger_worker import private
from ganger_worker.buffers import SEPARATE_FROM, Kept, laid_out, loads
from ganger_worker.protocol import Encoding, Flag, Kind
from host import Got, Host, write
from test_shared_memory import Arenas, call, release, released

VECTORS = notation.load("vectors/pickles.json")["pickles"]
WORKER = """
    import os, pickle
    from ganger_worker import action

    kept = []

    @action
    def same(x): return x

    @action
    def kinds(x): return [[type(it).__name__, it.readonly, bytes(it[:3])] for it in x]

    @action
    def zeroed(x):
        before = bytes(x[:3])
        x[:] = bytes(len(x))
        return before

    @action
    def keep(x):
        kept.append(x)
        x[:3] = b"own"

    @action
    def drop(): return bytes(kept.pop(0)[:6])

    @action
    def made(size, count): return [pickle.PickleBuffer(bytearray(b"m" * size)) for _ in range(count)]

    @action
    def raw(size): return bytes(size)
    """
PICKLE = Encoding.PICKLE | Flag.SHARED
DATA = random.Random(1).randbytes(300_000)


def packed(value: Any) -> bytes:
    kept = Kept()
    return b"".join(laid_out([pickle.dumps(value, 5, buffer_callback=kept)], kept))


def one(data: bytes) -> bytes:
    return packed(pickle.PickleBuffer(bytearray(data)))


@pytest.fixture
def arenas() -> Iterator[Arenas]:
    made = Arenas()
    yield made
    made.close()


@pytest.fixture
def host(arenas: Arenas, tmp_path: Path) -> Iterator[Host]:
    with arenas.start(write(tmp_path, "workers.py", WORKER), concurrency=2) as started:
        started.ready()
        yield started


def value_of(arenas: Arenas, got: Got) -> Any:
    assert got.kind == Kind.RESULT, got
    return loads(arenas.take(got) if got.flags & Flag.SHARED else got.payload)


def await_release(host: Host, got: Got) -> None:
    assert released(host, got.seq) or host.expect(Kind.RELEASE).seq == got.seq


# --- the form


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
@pytest.mark.parametrize("writable", [False, True])
def test_golden(vector: dict[str, Any], writable: bool) -> None:
    data = bytes.fromhex(vector["hex"])
    payload = memoryview(bytearray(data)) if writable else data
    if vector["value"] is None:
        with pytest.raises(Exception, match=r"beyond|buffer|unpack|iterative"):
            loads(payload)
        return
    expected = notation.value(vector["value"])
    got = loads(payload)
    assert (tuple(expected) if isinstance(expected, list) else expected) == got
    if vector.get("written"):
        start, length = (int.from_bytes(data[at : at + 8], "little") for at in (8, 16))
        buffers = [memoryview(bytes.fromhex(it)) for it in vector["buffers_hex"]]
        assert b"".join(laid_out([data[start : start + length]], buffers)) == data


def test_small_buffers_stay_in_the_pickle() -> None:
    for size in (0, 1, SEPARATE_FROM - 1):
        assert one(b"x" * size)[0] == 0x80
        assert loads(one(b"x" * size)) == b"x" * size
    assert one(b"x" * SEPARATE_FROM)[0] == 0


def test_buffers_can_be_written_unless_the_pickle_says_otherwise() -> None:
    value = loads(packed([pickle.PickleBuffer(bytearray(DATA)), pickle.PickleBuffer(DATA)]))
    assert [memoryview(it).readonly for it in value] == [False, True]


# --- in


@pytest.mark.parametrize("offset", [0, 64 * 1024, 100], ids=["first", "later", "not at a page"])
def test_an_input_lies_where_it_was_put_or_is_copied(host: Host, arenas: Arenas, offset: int) -> None:
    payload = packed([pickle.PickleBuffer(bytearray(DATA)), pickle.PickleBuffer(bytearray(DATA[9:]))])
    got = call(host, "kinds", arenas.put(payload, offset), PICKLE)
    kinds = [["memoryview", False, DATA[:3]], ["memoryview", False, DATA[9:12]]]
    assert pickle.loads(got.payload) == kinds
    assert not got.flags & Flag.HELD


def test_through_the_lane_it_is_the_same(host: Host) -> None:
    got = host.answer(host.send_call("zeroed", one(DATA), Encoding.PICKLE))
    assert got.value == DATA[:3]


def test_the_next_payload_at_the_same_place_is_seen(host: Host, arenas: Arenas) -> None:
    for n in range(10):
        data = bytes([n]) * 300_000
        reference = arenas.put(one(data), 32 * 1024)
        assert call(host, "zeroed", reference, PICKLE).value == data[:3]
        # A retry, or the same block in a further call: nobody's bytes but the host's.
        assert call(host, "zeroed", reference, PICKLE).value == data[:3]


def test_one_block_lent_twice_is_two_memories(host: Host, arenas: Arenas) -> None:
    reference = arenas.put(one(DATA), 0)
    held = [call(host, "keep", reference, PICKLE), call(host, "keep", reference, PICKLE)]
    assert all(got.flags & Flag.HELD for got in held)
    assert call(host, "zeroed", reference, PICKLE).value == DATA[:3]
    for got in held:
        assert host.answer(host.send_call("drop", b"\x80\x05N.", Encoding.PICKLE)).value == b"own" + DATA[3:6]
        await_release(host, got)
    assert os.pread(arenas.inputs, len(one(DATA)), 0) == one(DATA)


def test_what_is_cut_is_an_invalid_input(host: Host, arenas: Arenas) -> None:
    got = call(host, "zeroed", arenas.put(one(DATA)[:-1], 0), PICKLE)
    assert (got.kind, got.body["code"]) == (Kind.ERROR, "INVALID_INPUT")
    if got.flags & Flag.HELD:
        await_release(host, got)
    assert call(host, "zeroed", arenas.put(one(DATA), 0), PICKLE).value == DATA[:3]


def test_a_python_without_mmap_copies(arenas: Arenas, tmp_path: Path) -> None:
    blocked = 'import sys; sys.modules["mmap"] = None\n'
    with arenas.start(write(tmp_path, "workers.py", "    " + blocked + WORKER)) as host:
        host.ready()
        for _ in range(2):
            assert call(host, "zeroed", arenas.put(one(DATA), 0), PICKLE).value == DATA[:3]


# --- out


def test_a_result_lies_in_the_workers_arena(host: Host, arenas: Arenas) -> None:
    got = call(host, "same", arenas.put(one(DATA), 0), PICKLE)
    assert got.flags & Flag.SHARED
    assert value_of(arenas, got) == DATA


@pytest.mark.parametrize(
    ("size", "count"), [(200_000, 1), (SEPARATE_FROM, 600), (100, 3000), (3 << 20, 2), (10 << 20, 1)]
)
def test_results_of_many_and_of_large_buffers(host: Host, arenas: Arenas, size: int, count: int) -> None:
    payload = pickle.dumps({"size": size, "count": count}, 5)
    for _ in range(2):
        got = host.answer(host.send_call("made", payload, Encoding.PICKLE))
        value = value_of(arenas, got)
        assert len(value) == count
        assert all(it == b"m" * size for it in value)
        if got.flags & Flag.SHARED:
            release(host, got)
    assert bool(got.flags & Flag.SHARED) == (size * count < arenas.size)


def test_a_long_byte_string_is_one_too(host: Host, arenas: Arenas) -> None:
    got = host.answer(host.send_call("raw", pickle.dumps(300_000, 5), Encoding.PICKLE))
    assert got.flags & Flag.SHARED
    assert value_of(arenas, got) == bytes(300_000)


def test_the_limit_holds_for_all_of_it(arenas: Arenas, tmp_path: Path) -> None:
    with arenas.start(write(tmp_path, "workers.py", WORKER), max_payload=250_000) as host:
        host.ready()
        assert call(host, "same", arenas.put(one(DATA), 0), PICKLE).body["code"] == "PAYLOAD_TOO_LARGE"
        payload = pickle.dumps({"size": 100_000, "count": 3}, 5)
        body = host.answer(host.send_call("made", payload, Encoding.PICKLE)).body
        assert body["code"] == "PAYLOAD_TOO_LARGE"


# --- for forked children


@pytest.mark.parametrize("system", ["new", "old"])
def test_pages_are_made_its_own_at_once(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if system == "old":
        monkeypatch.setattr(private, "_MADV_POPULATE_WRITE", 9999)
    length = 5 * mmap.PAGESIZE + 10
    descriptor = os.memfd_create("inputs")
    os.pwrite(descriptor, b"a" * (mmap.PAGESIZE + length), 0)
    memory = private.mapped(descriptor, mmap.PAGESIZE, length)
    assert memory is not None
    memory[0] = ord("b")
    private.make_own([None, memory])
    os.pwrite(descriptor, b"c" * (mmap.PAGESIZE + length), 0)
    assert bytes(memory) == b"b" + b"a" * (length - 1)
    assert all(map(private.mapped, itertools.repeat(descriptor), [1, 1 << 40], [10, 10])) is False
    os.close(descriptor)
