"""Cancels against calls, in every order of the two lanes: no cancel is lost, no call ends twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ganger_worker.protocol import Flag, Kind
from host import Host, frame, pack, write

CODE = """
    import asyncio, logging, time
    from ganger_worker import action, context
    log = logging.getLogger("races")

    @action
    def until_cancelled(x=None):
        while not context.cancelled:
            time.sleep(0.0001)
        log.info("leaving")
        context.check()

    @action
    async def until_cancelled_async(x=None):
        await asyncio.sleep(1000)

    @action
    def quick(x=None):
        log.info("quick")
        return 1
    """


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_every_call_ends_once(tmp_path: Path, concurrency: int, seed: int) -> None:
    rng = random.Random(seed)
    with Host.start(write(tmp_path, "races.py", CODE), concurrency=concurrency) as host:
        host.ready()
        ended: list[int] = []
        for _ in range(100):
            seqs = [begin(host, rng) for _ in range(rng.randint(1, concurrency))]
            for seq in seqs:
                got = host.answer(seq)
                assert got.kind == Kind.RESULT or got.body["code"] == "CANCELLED"
            ended.extend(seqs)
        assert host.result("quick") == 1
        assert not [got for got in host.kept if got.kind in (Kind.RESULT, Kind.ERROR)]
        assert len(set(ended)) == len(ended)


def begin(host: Host, rng: random.Random) -> int:
    """A call whose cancel goes before it, amid its chunks, or after it."""
    name = rng.choice(["until_cancelled", "until_cancelled_async", "quick"])
    host.seq += rng.randint(1, 3)
    seq, body = host.seq, pack([name])
    chunked = rng.random() < 0.5
    first = (1).to_bytes(8, "little") if chunked else b"\xc0"
    frames = [frame(Kind.CALL, seq, body, first, Flag.CRITICAL | (Flag.MORE if chunked else 0))]
    if chunked:
        frames.append(frame(Kind.CHUNK, seq, b"", b"\xc0"))
    moment = rng.randint(0, len(frames))
    for index, data in enumerate([*frames, b""]):
        if index == moment:
            host.cancel(seq)
        if data:
            host.data.sendall(data)
    return seq
