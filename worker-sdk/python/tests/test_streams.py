"""Streams out of a function, into it, and both at once; alike whether calls run inline or side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ganger_worker.protocol import Encoding, Flag, Kind
from host import Host, frame, pack, write

WINDOW = 64
CODE = """
    import asyncio, time
    from collections.abc import AsyncIterator, Iterable, Iterator
    from dataclasses import dataclass
    from ganger_worker import InvalidItem, action, context

    log = []

    @action
    def count(n: int) -> Iterator[int]:
        made = 0
        try:
            for made in range(1, n + 1):
                yield made
        finally:
            log.append(("count", made, context.cancelled))

    @action
    async def count_async(n: int) -> AsyncIterator[int]:
        made = 0
        try:
            for made in range(1, n + 1):
                yield made
        finally:
            await asyncio.sleep(0)
            log.append(("count_async", made, context.cancelled))

    @action
    async def waits() -> AsyncIterator[str]:
        try:
            yield "waits"
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            log.append(("waits", "interrupted"))
            raise

    @action
    async def goes_on() -> AsyncIterator[int]:
        while True:
            try:
                yield 1
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                log.append(("goes_on", "swallowed"))

    @action
    def mapped(n: int) -> Iterator[str]:
        return map(str, range(n))

    @action
    def fails(n: int):
        yield from range(n)
        raise ValueError("out of tokens")

    @action
    async def fails_async(n: int):
        for i in range(n):
            yield i
        raise ValueError("out of tokens")

    @action
    def returns(n: int):
        yield from range(n)
        return {"all": n}

    @action
    def odd(what: str):
        try:
            yield 1
            yield {"object": object(), "large": "x" * 5000, "text": "x"}[what]
            yield 3
        finally:
            log.append(("odd", what))

    @action
    def blocks(n: int, size: int):
        buffer = bytearray(size)
        for i in range(n):
            buffer[:1] = bytes([i])
            yield buffer

    @action
    def total(items: Iterable[int]) -> int:
        return sum(items)

    @action
    async def total_async(items: AsyncIterator[int], start: int = 0) -> int:
        async for item in items:
            start += item
        return start

    @action
    def first(items: Iterator[int], n: int) -> list[int]:
        return [next(items) for _ in range(n)]

    @action
    def keeps(items: Iterator[bytes]) -> int:
        return sum(len(item) for item in items)

    @dataclass
    class Point:
        x: int

    @action
    def points(options: dict[str, int], items: Iterator[Point]) -> int:
        return options["factor"] * sum(point.x for point in items)

    @action
    def forgives(items: Iterator[int]) -> list[str]:
        found = []
        while True:
            try:
                found.append(str(next(items)))
            except InvalidItem as error:
                found.append(f"{error.path}: {error.code}")
            except StopIteration:
                return found

    @action
    def reads_on(items: Iterator[int]) -> Iterator[int]:
        yield next(items)
        try:
            context.progress(1)
            while not context.cancelled:
                time.sleep(0.001)
            next(items)
        except BaseException as error:
            log.append(("reads_on", type(error).__name__))
            raise

    @action
    async def reads_on_async(items: AsyncIterator[int]) -> AsyncIterator[int]:
        yield await anext(items)
        try:
            context.progress(1)
            while not context.cancelled:
                time.sleep(0.001)
            await anext(items)
        except BaseException as error:
            log.append(("reads_on_async", type(error).__name__))
            raise

    @action
    def doubles(items: Iterator[int]) -> Iterator[int]:
        try:
            for item in items:
                yield 2 * item
        finally:
            log.append(("doubles", context.cancelled))

    @action
    async def doubles_async(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield 2 * item
        finally:
            log.append(("doubles_async", context.cancelled))

    @action
    async def reads_aside(items: AsyncIterator[int]) -> AsyncIterator[int]:
        queue = asyncio.Queue()
        async def read():
            async for item in items:
                queue.put_nowait(item)
            queue.put_nowait(None)
        reader = asyncio.create_task(read())
        while (item := await queue.get()) is not None:
            yield item

    @action
    def echo(value: object = None) -> object:
        return value

    @action
    def logged() -> list[object]:
        return log
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("streams"), "streams.py", CODE)


@pytest.fixture(params=[1, 4], ids=["one at a time", "four"])
def concurrency(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def host(code: Path, concurrency: int) -> Iterator[Host]:
    with Host.start(code, concurrency=concurrency, max_payload=4000) as host:
        host.ready()
        yield host


def begin(host: Host, function: str, value: Any = None) -> int:
    return host.send_call(function, pack(value))


def fails_with(host: Host, seq: int, code: str) -> dict[str, Any]:
    got = host.answer(seq)
    assert got.kind == Kind.ERROR, got
    assert got.body["code"] == code
    return got.body


def logged(host: Host, entry: list[Any]) -> bool:
    return entry in host.result("logged")


# --- contracts


def test_contracts(code: Path) -> None:
    with Host.start(code) as host:
        found = {contract["name"]: contract for contract in host.ready()}
    assert (found["count"]["kind"], found["count"]["output"]) == ("stream", {"type": "integer"})
    assert (found["count_async"]["kind"], found["count_async"]["output"]) == ("stream", {"type": "integer"})
    assert (found["mapped"]["kind"], found["mapped"]["output"]) == ("stream", {"type": "string"})
    assert (found["fails"]["kind"], found["fails"].get("output")) == ("stream", None)
    assert "inputs" not in found["count"]
    total = found["total"]
    assert (total["kind"], total["inputs"]) == ("value", {"type": "integer"})
    assert total["input"] == {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
        "additionalProperties": False,
    }
    assert found["points"]["inputs"]["properties"] == {"x": {"type": "integer"}}
    assert found["points"]["input"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert (found["doubles"]["kind"], found["doubles"]["inputs"]) == ("stream", {"type": "integer"})


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        ("def f(a: Iterator[int], b: Iterator[int])", "two input streams, 'a' and 'b'"),
        ("def f(a: AsyncIterator[int])", "'a' must be annotated as Iterator"),
        ("async def f(a: Iterator[int])", "'a' must be annotated as AsyncIterator"),
    ],
)
def test_an_input_stream_that_cannot_be_read_is_told_at_the_start(
    tmp_path: Path, signature: str, words: str
) -> None:
    code = f"""
    from collections.abc import AsyncIterator, Iterator
    from ganger_worker import action
    @action
    {signature}: ...
    """
    with Host.start(write(tmp_path, "bad.py", code)) as host:
        assert words in fails_with(host, 0, "START_FAILED")["message"]


# --- out


@pytest.mark.parametrize("function", ["count", "count_async"])
def test_items_come_in_order_and_then_the_end(host: Host, function: str) -> None:
    assert host.items(function, 3) == [1, 2, 3]
    assert host.items(function, 0) == []
    assert host.items("mapped", 3) == ["0", "1", "2"]
    assert host.result("returns", 2) == {"all": 2}
    assert host.result("count", 2) is None


@pytest.mark.parametrize("function", ["count", "count_async"])
def test_a_producer_makes_no_more_than_there_is_credit_for(host: Host, function: str) -> None:
    seq = begin(host, function, 1_000_000)
    for number in range(1, WINDOW + 1):
        assert host.item(seq) == number
    host.credit(seq, 3)
    for number in range(WINDOW + 1, WINDOW + 4):
        assert host.item(seq) == number
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    assert logged(host, [function, WINDOW + 3, True])


@pytest.mark.parametrize("function", ["count", "count_async"])
def test_a_producer_that_waits_holds_up_nobody(code: Path, function: str) -> None:
    with Host.start(code, concurrency=2) as host:
        host.ready()
        seq = begin(host, function, 100)
        for _ in range(WINDOW):
            host.item(seq)
        assert host.result("echo", "others go on") == "others go on"
        host.credit(seq, 100)
        assert host.answer(seq).kind == Kind.RESULT
        assert host.kept_items(seq) == list(range(WINDOW + 1, 101))


def test_bytes_count_as_well(code: Path) -> None:
    with Host.start(code) as host:
        host.ready()
        seq = host.send_call("blocks", pack({"n": 10, "size": 1 << 20}))
        assert [host.item(seq)[0] for _ in range(4)] == [0, 1, 2, 3]
        host.credit(seq, 0, 1)  # one byte is positive: an item goes, and turns it negative
        assert host.item(seq)[0] == 4
        host.credit(seq, 0, (1 << 20) - 1)
        host.credit(seq, 0, 1)
        assert host.item(seq)[0] == 5
        host.credit(seq, 0, 8 << 20)
        assert host.answer(seq).kind == Kind.RESULT
        assert [item[0] for item in host.kept_items(seq)] == [6, 7, 8, 9]


@pytest.mark.parametrize("function", ["fails", "fails_async"])
def test_an_error_comes_after_the_items_before_it(host: Host, function: str) -> None:
    seq = begin(host, function, 3)
    error = fails_with(host, seq, "CALL_FAILED")
    assert (error["type"], error["message"]) == ("ValueError", "out of tokens")
    assert "producing.py" not in error["traceback"]
    assert host.kept_items(seq) == [0, 1, 2]


@pytest.mark.parametrize(
    ("what", "error", "path"), [("object", "INVALID_RESULT", "$"), ("large", "PAYLOAD_TOO_LARGE", None)]
)
def test_an_item_that_cannot_be_sent_ends_its_call_only(
    host: Host, what: str, error: str, path: str | None
) -> None:
    seq = begin(host, "odd", what)
    assert fails_with(host, seq, error).get("path") == path
    assert host.kept_items(seq) == [1]
    assert logged(host, ["odd", what])


def test_a_cancel_interrupts_an_asynchronous_generator_where_it_waits(host: Host) -> None:
    seq = begin(host, "waits")
    assert host.item(seq) == "waits"
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    assert logged(host, ["waits", "interrupted"])


def test_a_generator_that_swallows_its_cancel_ends_all_the_same(host: Host) -> None:
    seq = begin(host, "goes_on")
    host.item(seq)
    host.cancel(seq)
    host.credit(seq, 1000)
    fails_with(host, seq, "CANCELLED")


@pytest.mark.parametrize("function", ["count", "count_async"])
def test_a_generator_with_credit_hears_of_a_cancel(host: Host, function: str) -> None:
    seq = begin(host, function, 1 << 40)
    host.item(seq)
    host.credit(seq, 1 << 31, 1 << 50)
    for _ in range(1000):
        host.item(seq)
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    assert host.result("echo", 1) == 1


def test_a_stop_waits_for_the_end_of_a_stream(host: Host) -> None:
    seq = begin(host, "count", WINDOW + 1)
    for _ in range(WINDOW):
        host.item(seq)
    host.data.sendall(frame(Kind.STOP, body=pack({"reason": "close", "timeout_ms": 1000}), flags=1))
    host.credit(seq, 2)
    assert host.item(seq) == WINDOW + 1
    assert host.answer(seq).kind == Kind.RESULT
    assert host.exit_code() == 0


# --- in


@pytest.mark.parametrize("function", ["total", "total_async"])
def test_an_input_stream_is_read_to_its_end(host: Host, function: str) -> None:
    seq = begin(host, function)
    host.input(seq, 1, 2, 3)
    host.input_end(seq)
    assert host.answer(seq).value == 6
    host.input(seq, 4)  # was on its way
    assert host.result("echo", 1) == 1


@pytest.mark.parametrize("function", ["total", "total_async"])
def test_credit_goes_back_by_halves_of_the_window(host: Host, function: str) -> None:
    seq = begin(host, function)
    for turn in range(4):
        host.input(seq, *range(32))
        assert host.credited(seq) == (32, 32), turn
    host.input_end(seq)
    assert host.answer(seq).value == 4 * sum(range(32))


def test_credit_goes_back_by_bytes(code: Path) -> None:
    with Host.start(code) as host:
        host.ready()
        seq = begin(host, "keeps")
        for _ in range(2):
            payload = bytes(1 << 20)
            host.data.sendall(frame(Kind.INPUT, seq, payload=payload, flags=Encoding.RAW))
        assert host.credited(seq) == (2, 2 << 20)
        host.input_end(seq)
        assert host.answer(seq).value == 2 << 20


def test_an_item_may_come_in_chunks(code: Path, concurrency: int) -> None:
    with Host.start(code, concurrency=concurrency) as host:
        host.ready()
        seq = begin(host, "keeps")
        first = (6).to_bytes(8, "little") + b"ab"
        host.data.sendall(frame(Kind.INPUT, seq, payload=first, flags=Encoding.RAW | Flag.MORE))
        host.data.sendall(frame(Kind.CHUNK, seq, payload=b"cdef"))
        host.input_end(seq)
        assert host.answer(seq).value == 6


def test_a_call_that_ends_amid_an_item_is_answered_once(host: Host) -> None:
    seq = begin(host, "total")
    first = (6).to_bytes(8, "little") + b"ab"
    host.data.sendall(frame(Kind.INPUT, seq, payload=first, flags=Flag.MORE))
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    host.cancel(seq)  # R10: of the item
    host.data.sendall(frame(Kind.CHUNK, seq, payload=b"cdef"))
    assert host.result("echo", 1) == 1
    assert not [got for got in host.kept if got.kind == Kind.ERROR]


def test_a_list_in_the_input_serves_as_the_stream(host: Host) -> None:
    assert host.result("total", {"items": [1, 2]}) == 3
    assert host.result("total", [1, 2]) == 3
    assert host.result("total_async", {"items": [1, 2], "start": 4}) == 7
    assert host.result("first", {"items": [1, 2], "n": 1}) == [1]
    assert host.error("total", {"items": ["x"]})["path"] == "$.items[0]"
    assert host.error("total", {"item": []})["code"] == "INVALID_INPUT"


def test_the_input_stands_beside_the_stream(host: Host) -> None:
    seq = begin(host, "total_async", {"start": 10})
    host.input(seq, 1)
    host.input_end(seq)
    assert host.answer(seq).value == 11
    seq = begin(host, "first", 2)  # anything that is no map is the only argument
    host.input(seq, 5, 6, 7)
    assert host.answer(seq).value == [5, 6]
    seq = begin(host, "points", {"factor": 10})
    host.input(seq, {"x": 1}, {"x": 2})
    host.input_end(seq)
    assert host.answer(seq).value == 30


@pytest.mark.parametrize("function", ["total", "total_async"])
def test_an_item_that_does_not_fit_fails_its_call(host: Host, function: str) -> None:
    seq = begin(host, function)
    host.input(seq, 1, "two")
    error = fails_with(host, seq, "INVALID_INPUT")
    assert (error["type"], error["path"]) == ("ganger_worker.context.InvalidItem", "$")


def test_an_item_that_does_not_fit_can_be_passed_over(host: Host) -> None:
    seq = begin(host, "forgives")
    host.input(seq, 1, "two", 3)
    host.input_end(seq)
    assert host.answer(seq).value == ["1", "$: INVALID_INPUT", "3"]


@pytest.mark.parametrize("function", ["total", "total_async", "forgives"])
def test_an_item_beyond_the_limit_ends_its_call_whatever_the_function_does(host: Host, function: str) -> None:
    seq = begin(host, function)
    host.input(seq, 1)
    host.data.sendall(frame(Kind.INPUT, seq, payload=bytes(5000)))
    host.input(seq, 2)
    fails_with(host, seq, "PAYLOAD_TOO_LARGE")
    assert host.result("echo", 1) == 1


@pytest.mark.parametrize("function", ["reads_on", "reads_on_async"])
def test_after_a_cancel_no_item_comes_and_no_end(host: Host, function: str) -> None:
    """Though both lie there."""
    seq = begin(host, function)
    host.input(seq, 1, 2, 3)
    host.input_end(seq)
    host.expect(Kind.PROGRESS, seq)
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    assert logged(host, [function, "Cancelled" if function == "reads_on" else "CancelledError"])


@pytest.mark.parametrize("function", ["total", "total_async"])
def test_a_function_that_waits_for_input_hears_of_a_cancel(host: Host, function: str) -> None:
    seq = begin(host, function)
    host.input(seq, *range(32))
    host.credited(seq)
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    assert host.result("echo", 1) == 1


def test_input_for_a_function_that_reads_none_is_dropped(host: Host) -> None:
    seq = begin(host, "count", WINDOW + 1)
    host.input(seq, 1, 2)
    host.input_end(seq)
    for _ in range(WINDOW):
        host.item(seq)
    host.credit(seq, 2)
    assert host.answer(seq).kind == Kind.RESULT
    assert host.result("echo", 1) == 1


# --- both


@pytest.mark.parametrize("function", ["doubles", "doubles_async", "reads_aside"])
def test_each_item_is_answered_before_the_next_is_sent(host: Host, function: str) -> None:
    factor = 1 if function == "reads_aside" else 2
    seq = begin(host, function)
    for number in range(200):
        host.input(seq, number)
        assert host.item(seq) == factor * number
        if number % 32 == 31:
            assert host.credited(seq)[0] == 32
            host.credit(seq, 32)
    host.input_end(seq)
    assert host.answer(seq).kind == Kind.RESULT


@pytest.mark.parametrize("function", ["doubles", "doubles_async"])
def test_a_cancel_ends_both_directions(host: Host, function: str) -> None:
    seq = begin(host, function)
    host.input(seq, 1)
    assert host.item(seq) == 2
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")
    assert logged(host, [function, True])


@pytest.mark.parametrize("function", ["doubles", "doubles_async"])
def test_a_producer_without_credit_takes_no_more_input(host: Host, function: str) -> None:
    seq = begin(host, function)
    host.input(seq, *range(WINDOW))
    for number in range(WINDOW):
        assert host.item(seq) == 2 * number
    assert host.credited(seq)[0] == host.credited(seq)[0] == 32
    host.input(seq, *range(WINDOW))
    assert host.kept_items(seq) == []
    host.credit(seq, WINDOW)
    for number in range(WINDOW):
        assert host.item(seq) == 2 * number
    host.cancel(seq)
    fails_with(host, seq, "CANCELLED")


def test_streams_of_several_calls_at_once(code: Path) -> None:
    with Host.start(code, concurrency=4) as host:
        host.ready()
        seqs = [begin(host, name) for name in ("doubles", "doubles_async", "doubles", "reads_aside")]
        for number in range(20):
            for seq in seqs:
                host.input(seq, number)
        for seq in seqs:
            host.input_end(seq)
        for seq in seqs:
            assert host.answer(seq).kind == Kind.RESULT
            assert host.kept_items(seq) in (list(range(0, 40, 2)), list(range(20)))
