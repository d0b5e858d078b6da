"""Payloads in memory that host and worker share (SPEC 2.3), over real arenas."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ganger_worker import arena as workers_side
from ganger_worker.blocks import GRAIN, Blocks, class_of
from ganger_worker.protocol import REFERENCE, Encoding, Flag, Kind, Welcome, frame
from ganger_worker.session import Session
from ganger_worker.sharing import Sharing
from host import Got, Host, pack, welcome_body, write

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no memory without a name here")

SIZE = 8 << 20
THRESHOLD = 128 * 1024
INPUT, RESULT = 0, 1
WORKER = """
    from collections.abc import AsyncIterator, Iterator
    from ganger_worker import action

    kept = []

    @action
    def same(x): return x

    @action
    def copied(x: bytes) -> bytes: return x

    @action
    def anew(x: bytes) -> bytes: return bytes(bytearray(x))

    @action
    def reversed_(x: bytes) -> bytes: return x[::-1]

    @action
    async def later_same(x: bytes) -> bytes: return x

    @action
    def looked(x: memoryview): return [type(x).__name__, x.nbytes, x.readonly, bytes(x[:3])]

    @action
    def whole(x: memoryview): return x

    @action
    def part(x: memoryview): return x[10:]

    @action
    def keep(x: memoryview): kept.append(x[5:8]); return None

    @action
    def drop(): value = bytes(kept.pop()); return value

    @action
    def fail(x: memoryview): raise ValueError("on purpose")

    @action
    async def later(x: memoryview): return x

    @action
    def made(size: int) -> bytes: return b"r" * size

    @action
    def length(x): return len(x)

    @action
    def parts(count: int, size: int):
        for number in range(count): yield bytes([number]) * size

    @action
    def lengths(items: Iterator[bytes]) -> list[int]: return [len(item) for item in items]

    @action
    async def lengths_async(items: AsyncIterator[bytes]) -> list[int]:
        return [len(item) async for item in items]
    """


class Arenas:
    """The host's side."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.inputs = os.memfd_create("inputs")
        self.results = os.memfd_create("results")
        for fd in (self.inputs, self.results):
            os.ftruncate(fd, size)
        self.readers = os.open(f"/proc/self/fd/{self.inputs}", os.O_RDONLY)

    def start(self, target: Path, **settings: Any) -> Host:
        shared = {
            "input_fd": self.readers,
            "result_fd": self.results,
            "input_size": self.size,
            "result_size": self.size,
            "threshold": THRESHOLD,
        }
        welcome = {**welcome_body(**settings), "shared_memory": shared}
        return Host.start(target, welcome=welcome, inherit=(self.readers, self.results))

    def put(self, data: bytes, offset: int) -> bytes:
        os.pwrite(self.inputs, data, offset)
        return REFERENCE.pack(INPUT, offset, len(data))

    def take(self, got: Got) -> bytes:
        """What a shared result refers to, in this worker's arena."""
        assert got.kind in (Kind.RESULT, Kind.ITEM), got
        assert got.flags & Flag.SHARED, got
        arena, offset, length = REFERENCE.unpack(got.payload)
        assert arena == RESULT, "it was to be copied"
        return os.pread(self.results, length, offset)

    def close(self) -> None:
        for fd in (self.inputs, self.results, self.readers):
            os.close(fd)


@pytest.fixture
def arenas() -> Iterator[Arenas]:
    made = Arenas()
    yield made
    made.close()


@pytest.fixture
def host(arenas: Arenas, tmp_path: Path) -> Iterator[Host]:
    with arenas.start(write(tmp_path, "workers.py", WORKER)) as started:
        started.ready()
        yield started


def call(host: Host, function: str, reference: bytes, flags: int = Encoding.RAW) -> Got:
    return host.answer(host.send_call(function, reference, flags | Flag.SHARED))


def release(host: Host, *gots: Got) -> None:
    offsets = [REFERENCE.unpack(got.payload)[1] for got in gots]
    host.data.sendall(frame(Kind.RELEASE, body=pack(offsets)))


DATA = random.Random(1).randbytes(300_000)


def test_a_worker_says_that_it_can(host: Host) -> None:
    assert host.hello.body["shared_memory"] is True


@pytest.mark.parametrize("function", ["anew", "reversed_"])
def test_an_input_is_read_where_it_lies_and_a_result_left_in_the_workers_arena(
    host: Host, arenas: Arenas, function: str
) -> None:
    got = call(host, function, arenas.put(DATA, 64 * 1024))
    assert arenas.take(got) == (DATA if function == "anew" else DATA[::-1])
    assert not got.flags & (Flag.HELD | Flag.VIEW)


@pytest.mark.parametrize("function", ["same", "copied", "later_same"])
def test_bytes_that_come_back_as_they_are_stay_where_they_lie(
    host: Host, arenas: Arenas, function: str
) -> None:
    reference = arenas.put(DATA, 64 * 1024)
    got = call(host, function, reference)
    assert got.payload == reference
    assert got.flags == Encoding.RAW | Flag.SHARED


@pytest.mark.parametrize("blocked", ["", 'import sys; sys.modules["ctypes"] = None\n'])
def test_bytes_of_many_pages_arrive_as_they_are(tmp_path: Path, blocked: str) -> None:
    arenas = Arenas(96 << 20)
    try:
        with arenas.start(write(tmp_path, "workers.py", "    " + blocked + WORKER)) as host:
            host.ready()
            for size in (32 << 20, (40 << 20) + 3):
                sent = DATA * (size // len(DATA)) + bytes(size % len(DATA))
                reference = arenas.put(sent, 16 * 1024)
                for _ in range(2):
                    got = call(host, "reversed_", reference)
                    assert arenas.take(got) == sent[::-1]
                    release(host, got)
                    assert call(host, "same", reference).payload == reference
    finally:
        arenas.close()


def test_values_other_than_bytes_are_shared_too(host: Host, arenas: Arenas) -> None:
    value = [{"text": "x" * 200_000, "numbers": [1, 2.5]}]
    got = call(host, "same", arenas.put(pack(value), 0), Encoding.MESSAGEPACK)
    assert arenas.take(got) == pack(value)


def test_a_function_that_wants_a_view_gets_one_wherever_the_bytes_lie(host: Host, arenas: Arenas) -> None:
    expected = ["memoryview", len(DATA), True, DATA[:3]]
    assert call(host, "looked", arenas.put(DATA, 4096)).value == expected
    assert host.answer(host.send_call("looked", DATA, Encoding.RAW)).value == expected
    assert host.answer(host.send_call("looked", DATA[:10], Encoding.RAW)).value[:2] == ["memoryview", 10]


def test_what_says_nothing_gets_a_view_if_the_host_sent_one(host: Host, arenas: Arenas) -> None:
    reference = arenas.put(DATA, 0)
    assert not call(host, "same", reference).flags & Flag.VIEW
    assert call(host, "same", reference, Encoding.RAW | Flag.VIEW).flags & Flag.VIEW


@pytest.mark.parametrize("function", ["whole", "later"])
def test_an_input_that_comes_back_whole_is_not_copied(host: Host, arenas: Arenas, function: str) -> None:
    reference = arenas.put(DATA, 128 * 1024)
    got = call(host, function, reference)
    assert got.payload == reference
    assert got.flags & Flag.SHARED
    assert not got.flags & Flag.HELD, "nothing in the worker looks at it any more"


def test_a_part_of_it_is(host: Host, arenas: Arenas) -> None:
    assert arenas.take(call(host, "part", arenas.put(DATA, 0))) == DATA[10:]


def test_an_input_that_is_still_looked_at_is_given_back_later(host: Host, arenas: Arenas) -> None:
    got = call(host, "keep", arenas.put(DATA, 0))
    assert got.flags & Flag.HELD
    kept = got.seq
    assert host.result("drop") == DATA[5:8]
    assert host.expect(Kind.RELEASE).seq == kept if not released(host, kept) else True


def released(host: Host, seq: int) -> bool:
    return any(got.kind == Kind.RELEASE and got.seq == seq for got in host.kept)


def test_an_error_may_hold_it_too_and_lets_it_go(host: Host, arenas: Arenas) -> None:
    got = call(host, "fail", arenas.put(DATA, 0))
    assert got.kind == Kind.ERROR
    if got.flags & Flag.HELD and not released(host, got.seq):
        assert host.expect(Kind.RELEASE).seq == got.seq


def test_a_block_is_not_used_again_before_the_host_lets_it(host: Host, arenas: Arenas) -> None:
    first = host.call("made", 200_000)
    second = host.call("made", 200_000)
    assert first.payload != second.payload
    release(host, first)
    assert host.call("made", 199_000).payload[:16] == first.payload[:16]
    release(host, first, second, first)
    assert arenas.take(host.call("made", 150_000)) == b"r" * 150_000


def test_without_room_a_result_goes_through_the_lane(host: Host, arenas: Arenas) -> None:
    held = []
    while (got := host.call("made", 3_000_000)).flags & Flag.SHARED:
        held.append(got)
    assert len(held) == 2
    assert got.value == b"r" * 3_000_000
    release(host, *held)
    assert arenas.take(host.call("made", 6_000_000)) == b"r" * 6_000_000, "free neighbours are one block"


def test_small_payloads_never_use_it(host: Host) -> None:
    assert not host.call("made", THRESHOLD // 2).flags & Flag.SHARED
    assert host.call("made", THRESHOLD).flags & Flag.SHARED


def test_the_limit_is_that_of_what_is_referred_to(arenas: Arenas, tmp_path: Path) -> None:
    with arenas.start(write(tmp_path, "workers.py", WORKER), max_payload=250_000) as host:
        host.ready()
        assert call(host, "length", arenas.put(DATA, 0)).body["code"] == "PAYLOAD_TOO_LARGE"
        assert host.error("made", 250_001)["code"] == "PAYLOAD_TOO_LARGE"
        assert call(host, "length", arenas.put(DATA[:250_000], 0)).value == 250_000


@pytest.mark.parametrize(
    "reference",
    [
        b"",
        b"\0" * 23,
        REFERENCE.pack(RESULT, 0, 10),
        REFERENCE.pack(2, 0, 10),
        REFERENCE.pack(INPUT, SIZE, 1),
        REFERENCE.pack(INPUT, 1 << 63, 1 << 63),
    ],
)
def test_a_reference_to_anything_else_is_a_violation(host: Host, reference: bytes) -> None:
    host.send_call("same", reference, Encoding.RAW | Flag.SHARED)
    assert host.process.wait(30) == 70


def test_shared_memory_that_was_not_offered_is_a_violation(tmp_path: Path) -> None:
    with Host.start(write(tmp_path, "workers.py", WORKER)) as host:
        host.ready()
        host.send_call("same", REFERENCE.pack(INPUT, 0, 10), Encoding.RAW | Flag.SHARED)
        assert host.process.wait(30) == 70


def test_a_workers_children_have_neither_arena(arenas: Arenas, tmp_path: Path) -> None:
    code = f"""
        import subprocess, sys
        from ganger_worker import action

        @action
        def inherited():
            look = "import os; print(sum('memfd' in os.readlink(f'/proc/self/fd/{{n}}') for n in (3, 4, {arenas.readers}, {arenas.results}) if os.path.exists(f'/proc/self/fd/{{n}}')))"
            return subprocess.run([sys.executable, "-c", look], close_fds=False, capture_output=True, text=True).stdout
        """  # noqa: E501
    with arenas.start(write(tmp_path, "workers.py", code)) as host:
        host.ready()
        assert host.result("inherited").strip() == "0"


def test_several_calls_at_once_share_the_arena(arenas: Arenas, tmp_path: Path) -> None:
    with arenas.start(write(tmp_path, "workers.py", WORKER), concurrency=4) as host:
        host.ready()
        pieces = [random.Random(n).randbytes(200_000) for n in range(8)]
        seqs = [
            host.send_call("anew", arenas.put(piece, n * (256 << 10)), Encoding.RAW | Flag.SHARED)
            for n, piece in enumerate(pieces)
        ]
        assert [arenas.take(host.answer(seq)) for seq in seqs] == pieces


def test_a_python_without_ctypes_copies(arenas: Arenas, tmp_path: Path) -> None:
    blocked = 'import sys; sys.modules["ctypes"] = None\n'
    with arenas.start(write(tmp_path, "workers.py", "    " + blocked + WORKER)) as host:
        host.ready()
        assert call(host, "looked", arenas.put(DATA, 0)).value == ["memoryview", len(DATA), True, DATA[:3]]
        assert arenas.take(call(host, "whole", arenas.put(DATA, 0))) == DATA


# --- which parts are free


@pytest.mark.parametrize("size", [1, GRAIN, GRAIN + 1, 130_000, 300_000, 1 << 20, (1 << 26) + 1])
def test_a_class_wastes_a_fourth_at_most(size: int) -> None:
    length = class_of(size)
    assert length % GRAIN == 0
    assert size <= length <= size * 5 / 4 + GRAIN


def test_no_two_blocks_overlap_whatever_the_order() -> None:
    blocks, held, draw = Blocks(64 << 20), {}, random.Random(3)
    for _ in range(20_000):
        if draw.random() < 0.6:
            length = 1 << draw.randint(10, 22)
            offset = blocks.take(length)
            if offset is not None:
                assert offset not in held
                held[offset] = class_of(length)
        elif held:
            offset = draw.choice(list(held))
            del held[offset]
            blocks.give(offset)
    extents = sorted(held.items())
    assert all(start + length <= after for (start, length), (after, _) in itertools.pairwise(extents))
    for offset in held:
        blocks.give(offset)
        blocks.give(offset)
    assert blocks.take(64 << 20) == 0
    assert blocks.take(1) is None


def test_threads_with_the_first_results_share_one_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    made = workers_side.Arenas.__init__

    def slowly(arenas: workers_side.Arenas, *how: Any) -> None:
        time.sleep(0.1)  # whoever comes meanwhile finds none either
        made(arenas, *how)

    monkeypatch.setattr(workers_side.Arenas, "__init__", slowly)
    session = Session()
    shared = Welcome({"shared_memory": {"result_size": SIZE, "threshold": THRESHOLD}}).shared_memory
    assert shared is not None
    session._sharing = Sharing(shared, lambda _frame: None)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(session.arenas, [THRESHOLD] * 4))
    assert found[0] is not None
    assert all(arenas is found[0] for arenas in found)


# --- streams


def test_large_items_lie_in_shared_memory_and_their_blocks_serve_again(host: Host, arenas: Arenas) -> None:
    size, offsets = 1 << 20, set()
    seq = host.send_call("parts", pack({"count": 40, "size": size}))
    for number in range(40):
        got = host.expect(Kind.ITEM, seq)
        assert arenas.take(got) == bytes([number]) * size
        offsets.add(REFERENCE.unpack(got.payload)[1])
        release(host, got)
        host.credit(seq, 1, size)
    assert host.answer(seq).kind == Kind.RESULT
    assert len(offsets) < 10


@pytest.mark.parametrize("function", ["lengths", "lengths_async"])
def test_large_items_of_an_input_stream_are_read_where_they_lie(
    host: Host, arenas: Arenas, function: str
) -> None:
    size = 512 * 1024
    seq = host.send_call(function)
    for turn in range(3):
        offsets = [number * size for number in range(4)]
        for offset in offsets:
            reference = arenas.put(bytes(size), offset)
            flags = Encoding.RAW | Flag.SHARED
            host.data.sendall(frame(Kind.INPUT, seq, payload=reference, flags=flags))
        assert host.credited(seq) == (4, 2 << 20), turn
        assert [host.expect(Kind.RELEASE, seq).body for _ in offsets] == [[offset] for offset in offsets]
    host.input_end(seq)
    assert host.answer(seq).value == [size] * 12
