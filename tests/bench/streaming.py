"""What anyone could write: a process that sends items through what multiprocessing has for it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from typing import Any

import functions
from pools import Futures

# Items that may wait between the two.
ROOM = 1024


class Process(Futures):
    """One process: it answers over a pipe, and sends items there or through a queue."""

    def __init__(self, workers: int, *, queue: bool) -> None:
        if workers != 1:
            raise ValueError("it is one process")
        self._asked, theirs = multiprocessing.Pipe()
        self._items: Any = multiprocessing.Queue(ROOM) if queue else None
        process = multiprocessing.Process(target=_serve, args=(theirs, self._items), daemon=True)
        super().__init__(process)
        process.start()

    def begin(self, function: str, payload: object) -> None:
        self._asked.send((function, payload))

    def end(self, handle: object) -> Any:
        del handle  # answers come in order
        return self._asked.recv()

    def stream(self, count: int, blocks: bool, chunk: int) -> Iterator[Any]:
        del chunk
        self.begin("items", {"count": count, "blocks": int(blocks)})
        receive = self._asked.recv_bytes if blocks else self._asked.recv
        if self._items is not None:
            receive = self._items.get
        for _ in range(count):
            yield receive()

    def close(self) -> None:
        self.pool.kill()


def _serve(asked: Any, items: Any) -> None:
    while True:
        function, payload = asked.recv()
        answer = getattr(functions, function)(payload)
        if function != "items":
            asked.send(answer)
            continue
        send = asked.send_bytes if payload["blocks"] else asked.send
        if items is not None:
            send = items.put
        for item in answer:
            send(item)
