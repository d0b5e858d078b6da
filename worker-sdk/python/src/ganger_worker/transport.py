"""The two lanes as blocking descriptors: frames in through one reused buffer, frames out under one lock.

Descriptors and not sockets: reading and writing them takes no further module, and as long.
"""

from __future__ import annotations

import io
import os
from _thread import allocate_lock

from .protocol import HEADER, HEADER_SIZE, MAX_BODY, TOO_LARGE, TOTAL, Flag, Frame, Kind, Violation, header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

BUFFER: Final = 256 * 1024
JOIN_BELOW: Final = 32 * 1024
PIECE: Final = 256 * 1024
MAX_WAITING: Final = 10_000


class HostGone(Exception):
    """End of file or an error on a lane (R1)."""


class Reader:
    """Reads frames of one lane. A small frame costs one read, several that came together cost one for all."""

    def __init__(self, descriptor: int, max_payload: int = 1 << 63) -> None:
        self.max_payload = max_payload
        self._descriptor = descriptor
        self._view = memoryview(bytearray(BUFFER))
        self._start = 0
        self._end = 0

    @property
    def holds_frame(self) -> bool:
        """Whether bytes of a further frame have been received already."""
        return self._end > self._start

    def waits(self, limit_ms: int) -> bool:
        """Whether there is something to read, or the end of it, within this time."""
        import select

        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        return self.holds_frame or bool(poller.poll(limit_ms))

    def read(self) -> Frame:
        start = self._start
        view = self._view
        if start == self._end:  # nothing held: the usual case
            start = self._start = 0
            self._end = self._receive(view)
        if self._end - start < HEADER_SIZE:
            self._fill(HEADER_SIZE)
            start = self._start
        length, body_length, kind, flags, _reserved, seq = HEADER.unpack_from(view, start)
        if body_length > length or body_length > MAX_BODY:
            raise Violation(f"body_length {body_length} of length {length}")
        start += HEADER_SIZE
        if HEADER_SIZE + length > BUFFER:
            self._start = start
            return self._read_large(kind, flags, seq, body_length, length - body_length)
        end = start + length
        if end > self._end:
            self._fill(HEADER_SIZE + length)
            start = self._start + HEADER_SIZE
            end = start + length
        payload_start = start + body_length
        self._start = end
        return Frame(kind, flags, seq, bytes(view[start:payload_start]), bytes(view[payload_start:end]))

    def _read_large(self, kind: int, flags: int, seq: int, body_length: int, payload_length: int) -> Frame:
        body = self._collect(body_length)
        if payload_length <= self.max_payload + TOTAL.size:
            return Frame(kind, flags, seq, body, self._collect(payload_length))
        self._through(payload_length, lambda _piece: None)
        return Frame(kind, flags | TOO_LARGE, seq, body, b"")

    def _collect(self, length: int) -> bytes:
        """Many bytes through the reused buffer, which stays in the cache, into one growing bytes object.

        BytesIO grows in place and hands its buffer out without a copy; a bytearray of the full size would be
        filled with zeros first, and touching fresh pages is what costs most.
        """
        sink = io.BytesIO()
        self._through(length, sink.write)
        return sink.getvalue()

    def _through(self, length: int, take: Callable[[memoryview], object]) -> None:
        while length:
            if self._start == self._end:
                self._start, self._end = 0, self._receive(self._view)
            end = min(self._end, self._start + length)
            take(self._view[self._start : end])
            length -= end - self._start
            self._start = end

    def _fill(self, wanted: int) -> None:
        """At least ``wanted`` bytes from the start, which moves to the front if there is no room behind."""
        view = self._view
        held = self._end - self._start
        if held == 0:
            self._start = self._end = 0
        elif self._start + wanted > BUFFER:
            view[:held] = bytes(view[self._start : self._end])
            self._start, self._end = 0, held
        while self._end - self._start < wanted:
            self._end += self._receive(view[self._end :] if self._end else view)

    def leave_to_parent(self) -> None:
        self._descriptor = -1

    def _receive(self, into: memoryview) -> int:
        try:
            count = os.readv(self._descriptor, (into,))
        except OSError as error:
            raise HostGone(str(error)) from None
        if not count:
            raise HostGone("end of file")
        return count


class Writer:
    """Writes whole frames to one lane, from any thread.

    Replies wait for the lock. Logs and progress never do: they go into a bounded queue that whoever holds the
    lock empties, so a log call from a finalizer or a signal handler cannot lock up.
    """

    def __init__(self, descriptor: int) -> None:
        self.dropped = 0
        self.forked = False
        self.interleave = False
        self._descriptor = descriptor
        self._lock = allocate_lock()
        self._waiting: list[bytes] = []

    def send(self, data: bytes) -> None:
        """One whole frame."""
        with self._lock:
            if self._waiting:
                self._write_waiting()
            try:
                sent = os.write(self._descriptor, data)
                if sent != len(data):
                    self._write_rest(memoryview(data)[sent:])
            except OSError as error:
                raise HostGone(str(error)) from None
        if self._waiting:
            self._flush()

    def send_payload(self, kind: int, flags: int, seq: int, payload: bytes | bytearray | memoryview) -> None:
        """A frame without a body; a large payload is written from where it lies."""
        size = payload.nbytes if type(payload) is memoryview else len(payload)
        head = HEADER.pack(size, 0, kind, flags, 0, seq)
        if size <= JOIN_BELOW:
            self.send(head + payload)
        elif self.interleave and size > PIECE:
            self._send_chunked(kind, flags, seq, memoryview(payload).cast("B"))
        else:
            with self._lock:
                self._write_waiting()
                self._write_parts(head, memoryview(payload).cast("B"))
            self._flush()

    def post(self, data: bytes) -> None:
        """A frame that may be dropped, but whose sender must not wait for others."""
        if len(self._waiting) >= MAX_WAITING:
            self.dropped += 1
        else:
            self.post_always(data)

    def post_always(self, data: bytes) -> None:
        """A frame whose sender must not wait for others, of a kind of which there are few."""
        if self.forked:
            return
        self._waiting.append(data)
        try:
            self._flush()
        except HostGone:
            pass  # no concern of the function that logs; the worker is about to end

    def close_for_exit(self, timeout: float | None = None) -> None:
        """Wait until no frame is half written, then let nobody begin another (R24)."""
        if not self.forked and self._lock.acquire(timeout=-1 if timeout is None else timeout):
            try:
                self._write_waiting()
            except HostGone:
                pass

    def leave_to_parent(self) -> None:
        """In a forked child: another thread of the parent may have held the lock."""
        self.forked = True
        self._descriptor = -1
        self._waiting.clear()
        self._lock = allocate_lock()

    def _send_chunked(self, kind: int, flags: int, seq: int, payload: memoryview) -> None:
        total = payload.nbytes
        first = header(kind, flags | Flag.MORE, seq, 0, 8 + PIECE) + total.to_bytes(8, "little")
        with self._lock:
            self._write_waiting()
            self._write_parts(first, payload[:PIECE])
        for start in range(PIECE, total, PIECE):
            piece = payload[start : start + PIECE]
            more = Flag.MORE if start + PIECE < total else 0
            with self._lock:
                self._write_parts(header(Kind.CHUNK, more, seq, 0, len(piece)), piece)
        self._flush()

    def _flush(self) -> None:
        # A holder of the lock may have looked at the queue before our frame was in it: so look again until
        # the queue is empty or somebody else holds the lock, who looks after releasing it.
        while self._waiting and self._lock.acquire(blocking=False):
            try:
                self._write_waiting()
            finally:
                self._lock.release()

    def _write_waiting(self) -> None:
        waiting = self._waiting
        while waiting:
            self._write(waiting.pop(0))

    def _write(self, data: bytes) -> None:
        try:
            self._write_rest(memoryview(data))
        except OSError as error:
            raise HostGone(str(error)) from None

    def _write_parts(self, head: bytes, payload: memoryview) -> None:
        try:
            sent = os.writev(self._descriptor, (head, payload)) - len(head)
            if sent < 0:
                self._write_rest(memoryview(head)[sent:])
                sent = 0
            self._write_rest(payload[sent:])
        except OSError as error:
            raise HostGone(str(error)) from None

    def _write_rest(self, data: memoryview) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


class Lane:
    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, True)
        self.descriptor = descriptor
        self.reader = Reader(descriptor)
        self.writer = Writer(descriptor)

    def leave_to_parent(self) -> None:
        """In a forked child: close our descriptor and never use its number again, which others will have."""
        self.writer.leave_to_parent()
        self.reader.leave_to_parent()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
