"""The worker's side of the protocol as a state machine without IO: a frame in, an effect out.

Two threads feed it (data and control), so it holds one lock; it never waits for anything else.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from . import values
from .batch import Gathering, cancelled_alone
from .call import Call
from .chunks import Assemblies
from .effects import Cancel, Credit, Exit, Input, InputEnd, Load, Send, Stop
from .protocol import (
    DATA_TO_WORKER,
    KNOWN,
    MAX_BODY_DEPTH,
    NO_BODY,
    TOO_LARGE,
    VERSION,
    CallBody,
    Flag,
    Frame,
    Kind,
    Violation,
    frame,
    read_call,
    read_cancel,
    read_credit,
    read_release,
    read_stop,
    read_welcome,
)
from .sharing import Claims, Sharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from .arena import Arenas, Lent
    from .batch import Batch
    from .effects import Effect
    from .protocol import Welcome

VIOLATION_EXIT: Final = 70
HOST_GONE_EXIT: Final = 0
SDK_VERSION: Final = "0.1.0"
_CAN_SHARE: Final = hasattr(os, "pread")
_CAN_CLAIM: Final = hasattr(os, "eventfd")


class Phase:
    HANDSHAKE: Final = "waiting for WELCOME"
    LOADING: Final = "loading the user's code"
    SERVING: Final = "running calls"
    STOPPING: Final = "finishing the calls that run"
    STOPPED: Final = "done"


# Looked up once: an attribute of a class costs more than a global on the way of every call.
_CALL, _MORE, _AHEAD, _SHARED = Kind.CALL, Flag.MORE, Flag.AHEAD, Flag.SHARED
_VIEW, _ENCODING = Flag.VIEW, Flag.ENCODING
_SERVING, _STOPPING = Phase.SERVING, Phase.STOPPING


class Session:
    def __init__(self) -> None:
        self.phase: str = Phase.HANDSHAKE
        self.welcome: Welcome | None = None
        self._lock = allocate_lock()
        self._running: dict[int, Call] = {}
        self._ending: set[int] = set()
        self._cancelled_ahead: dict[int, str] = {}
        self._highest = 0
        self._stop_reason = ""
        self._stop_early = False
        self._max_payload = 0
        self._assemblies = Assemblies(0)
        self._sharing: Sharing | None = None
        self._claims: Claims | None = None
        self._gathering = Gathering()
        self._last_body: bytes | None = None
        self._last_call = CallBody("", 1, None, 0, {})

    # --- what is inherited

    def inherit(self, welcome: Welcome, post: Callable[[bytes], None]) -> None:
        """What WELCOME offered. ``post`` writes a frame to data without waiting for others."""
        if (shared := welcome.shared_memory) is not None:
            for descriptor in (shared.input_fd, shared.result_fd):
                os.set_inheritable(descriptor, False)
            self._sharing = Sharing(shared, post)
        if (claims := welcome.claims_fd) is not None:
            os.set_inheritable(claims, False)
            self._claims = Claims(claims)

    def arenas(self, size: int | None = None) -> Arenas | None:
        """None: not for a payload of this size."""
        return None if self._sharing is None else self._sharing.arenas(size)

    # --- what the worker says

    def hello(self, pid: int | None = None) -> bytes:
        body = {
            "min_version": VERSION,
            "max_version": VERSION,
            "sdk": "ganger-worker-python",
            "sdk_version": SDK_VERSION,
            "language": "python",
            "pid": os.getpid() if pid is None else pid,
            "shared_memory": _CAN_SHARE,
            "ahead": _CAN_CLAIM,
        }
        return frame(Kind.HELLO, body=values.encode_body(body))

    def ready(self, contracts: list[dict[str, object]]) -> bytes:
        """READY; to be written before the next frame of data is read."""
        data = frame(Kind.READY, body=values.encode_body({"functions": contracts}))
        self.phase = Phase.SERVING
        return data

    def stop_asked(self) -> Effect | None:
        """Whether the host gave the worker up while it was loading."""
        with self._lock:
            if not self._stop_early:
                return None
            self.phase = Phase.STOPPING
            return self._stop_if_idle()

    def finish(self, seq: int) -> Effect | None:
        """The call's RESULT or ERROR has been written."""
        call = self._running.pop(seq, None)
        if call is not None and call.incoming is not None:
            call.incoming.close()
            with self._lock:
                self._assemblies.abandon(seq)  # an item of its input stream
        if self.phase is not _STOPPING:
            return None
        with self._lock:
            return self._stop_if_idle()

    def ended(self, seq: int) -> Effect | None:
        """The ERROR of a call that never ran has been written."""
        with self._lock:
            self._ending.discard(seq)
            return self._stop_if_idle()

    def begin(self, batch: Batch) -> None:
        """Its function is about to be called: from now on a cancel answers its call."""
        with self._lock:
            batch.begun = True

    def claim(self, call: Call) -> bool:
        """Whether a call still waits for the answer that is about to be written."""
        with self._lock:
            unanswered = not call.answered
            call.answered = True
        return unanswered

    # --- what the host says

    def on_control(self, incoming: Frame) -> Effect | None:
        try:
            if incoming.kind == Kind.CANCEL:
                return self._cancel(incoming)
            if incoming.kind == Kind.WELCOME:
                return self._welcome(incoming)
            if incoming.kind == Kind.CREDIT:
                items, size = read_credit(_body(incoming.body))
                call = self._running.get(incoming.seq)
                return None if call is None else Credit(call, items, size)
            return self._unexpected(incoming, "control")
        except Violation as violation:
            return Exit(VIOLATION_EXIT, str(violation))

    def on_data(self, incoming: Frame) -> Effect | None:
        try:
            # One lock over all of it: a cancel that came between "seen" and "running" would be lost.
            with self._lock:
                flags = incoming.flags
                if flags & _AHEAD and incoming.kind == _CALL and self._claims is not None:
                    return incoming
                if incoming.kind == _CALL and self.phase is _SERVING and not flags & _MORE:
                    seq = incoming.seq
                    self._advance(seq)
                    return self._call(flags, seq, incoming.body, incoming.payload)
                return self._on_rare(incoming)
        except Violation as violation:
            return Exit(VIOLATION_EXIT, str(violation))

    def take_up(self, incoming: Frame) -> Effect | None:
        """The turn of a call has come that was handed over ahead. None: the host has taken it back."""
        try:
            with self._lock:
                self._advance(incoming.seq)
                if self._claims is None or self._claims.take():
                    return self._call(incoming.flags, incoming.seq, incoming.body, incoming.payload)
                self._cancelled_ahead.pop(incoming.seq, None)
                return None
        except Violation as violation:
            return Exit(VIOLATION_EXIT, str(violation))

    def end(self) -> Exit:
        """End of file or an error on a lane: the host is gone (R1)."""
        return Exit(HOST_GONE_EXIT, "")

    # --- parts

    def _on_rare(self, incoming: Frame) -> Effect | None:
        kind, seq = incoming.kind, incoming.seq
        if kind not in DATA_TO_WORKER:
            return self._unexpected(incoming, "data")
        if kind == Kind.STOP:
            return self._stop(read_stop(_body(incoming.body)).reason)
        if kind == Kind.RELEASE:
            offsets = read_release(_body(incoming.body))
            if self._sharing is not None:
                self._sharing.release(offsets)
            return None
        if self.phase in (Phase.HANDSHAKE, Phase.LOADING):
            raise Violation(f"frame of kind {kind} while {self.phase}")
        if kind == Kind.PING:
            self._advance(seq)
            return Send(frame(Kind.PONG, seq), pong=True)
        if kind == Kind.CALL:
            self._advance(seq)
        whole = self._assemblies.take(incoming)
        if whole is None:
            return self._cancelled_early(seq) if kind == Kind.CALL else None
        if whole.kind == Kind.CALL:
            return self._call(whole.flags, whole.seq, whole.body, whole.payload)
        return self._input(whole)

    def _call(self, flags: int, seq: int, body: bytes, payload: bytes) -> Effect | None:
        # Calls of one function mostly have the same body, byte for byte.
        if body != self._last_body:
            self._last_call = read_call(_body(body))
            self._last_body = body
        fields = self._last_call
        refused = lent = None
        if self._cancelled_ahead and seq in self._cancelled_ahead:
            refused = _report("CANCELLED", _before(self._cancelled_ahead.pop(seq)))
        else:
            lent = self._lent(seq, payload) if flags & _SHARED else None
            if len(payload if lent is None else lent) > self._max_payload or flags & TOO_LARGE:
                refused = _report("PAYLOAD_TOO_LARGE", f"the input exceeds {self._max_payload} bytes")
        batch = None if fields.batch is None else self._gathering.batch_of(seq, *fields.batch)
        if refused is not None and (batch is None or seq < batch.last):
            return Send(frame(Kind.ERROR, seq, values.encode_body(refused)))
        call = Call(seq, fields, flags & _ENCODING, payload if lent is None else b"")
        call.lent = lent
        call.view = bool(flags & _VIEW)
        if fields.timeout_ms is not None:
            call.deadline = time.monotonic() + fields.timeout_ms / 1000
        self._running[seq] = call
        if batch is None:
            return call
        call.verdict = refused
        return self._gathering.add(call, batch)

    def _input(self, incoming: Frame) -> Effect | None:
        flags = incoming.flags
        lent = self._lent(incoming.seq, incoming.payload) if flags & _SHARED else None
        call = self._running.get(incoming.seq)
        if call is None or call.incoming is None or call.incoming.is_over or call.cancelled:
            return None  # nobody reads it, or not any more
        if incoming.kind == Kind.INPUT_END:
            return InputEnd(call)
        if len(incoming.payload if lent is None else lent) > self._max_payload or flags & TOO_LARGE:
            return self._input_too_large(call)
        return Input(call, flags, incoming.payload, lent)

    def _input_too_large(self, call: Call) -> Cancel:
        text = f"an item of the input stream exceeds {self._max_payload} bytes"
        call.verdict = _report("PAYLOAD_TOO_LARGE", text)
        call.cancelled = True
        call.reason = "cancel"
        return Cancel(call, call.reason)

    def _lent(self, seq: int, payload: bytes) -> Lent:
        arenas = self.arenas()
        if arenas is None:
            raise Violation("a reference to shared memory that was not agreed on")
        return arenas.lent(seq, payload)

    def _cancelled_early(self, seq: int) -> Effect | None:
        """The first piece of a call came; if its cancel came before, there is no need for the rest."""
        reason = self._cancelled_ahead.pop(seq, None)
        if reason is None:
            return None
        self._assemblies.abandon(seq)
        return _cancelled_before(seq, reason)

    def _stop(self, reason: str) -> Effect | None:
        self._stop_reason = reason
        if self.phase is Phase.SERVING:
            self.phase = Phase.STOPPING
            return self._stop_if_idle()
        self._stop_early = self.phase is not Phase.STOPPED
        return None

    def _cancel(self, incoming: Frame) -> Effect | None:
        reason = read_cancel(_body(incoming.body))
        seq = incoming.seq
        with self._lock:
            call = self._running.get(seq)
            if call is None:
                if seq > self._highest:
                    self._cancelled_ahead[seq] = reason
                    return None
                if self._assemblies.abandon(seq) != Kind.CALL:
                    return None
                # Counts as running until its ERROR is written: a STOP that is read meanwhile waits for it.
                self._ending.add(seq)
                return _cancelled_before(seq, reason, ends=seq)
            if call.cancelled:
                return None
            call.cancelled = True
            call.reason = reason
            return Cancel(call, reason) if call.batch is None else self._cancel_in_batch(call, call.batch)

    def _cancel_in_batch(self, call: Call, batch: Batch) -> Effect | None:
        """The function is asked to stop once nobody waits for it; until then each call is let go alone."""
        if call.answered or not (batch.begun or batch.whole is None):
            return None
        if batch.whole is None:
            batch.calls.remove(call)
        elif not batch.has_others():
            batch.whole.cancelled = True
            batch.whole.reason = call.reason
            return Cancel(batch.whole, call.reason)
        call.answered = True
        # Counts as running until its ERROR is written.
        del self._running[call.seq]
        self._ending.add(call.seq)
        return Send(cancelled_alone(call), ends=call.seq)

    def _welcome(self, incoming: Frame) -> Effect:
        if self.phase is not Phase.HANDSHAKE:
            raise Violation("a second WELCOME")
        welcome = read_welcome(_body(incoming.body))
        if welcome.version != VERSION:
            raise Violation(f"version {welcome.version} was not offered")
        self.welcome = welcome
        self.phase = Phase.LOADING
        self._max_payload = welcome.max_payload
        self._assemblies = Assemblies(welcome.max_payload)
        return Load(welcome)

    def _advance(self, seq: int) -> None:
        if seq <= self._highest:
            raise Violation(f"seq {seq} after {self._highest}")
        self._highest = seq
        if self._cancelled_ahead:
            # Numbers that were passed over were pings, or calls that the host never sent.
            for passed in [ahead for ahead in self._cancelled_ahead if ahead < seq]:
                del self._cancelled_ahead[passed]

    def _stop_if_idle(self) -> Effect | None:
        # The one that ends the last call and the one that reads STOP may both come here.
        if self._running or self._ending or self._assemblies.hold_calls or self.phase is not Phase.STOPPING:
            return None
        self.phase = Phase.STOPPED
        return Stop(self._stop_reason)

    def _unexpected(self, incoming: Frame, lane: str) -> Effect | None:
        if incoming.kind in KNOWN:
            raise Violation(f"frame of kind {incoming.kind} to a worker on the {lane} lane")
        if incoming.flags & Flag.CRITICAL:
            raise Violation(f"critical frame of unknown kind {incoming.kind}")
        return None


def _body(body: bytes) -> object:
    if not body:
        return NO_BODY
    try:
        value = values.decode_body(body)
    except values.Refused as refused:
        raise Violation(f"a malformed body: {refused}") from None
    # Only a body longer than the limit can be nested deeper than it.
    if len(body) > MAX_BODY_DEPTH and values.depth(value) > MAX_BODY_DEPTH:
        raise Violation(f"a body nests deeper than {MAX_BODY_DEPTH} levels")
    return value


def _cancelled_before(seq: int, reason: str, ends: int = 0) -> Send:
    return Send(frame(Kind.ERROR, seq, values.encode_body(_report("CANCELLED", _before(reason)))), ends=ends)


def _before(reason: str) -> str:
    return f"cancelled before it started ({reason})"


def _report(code: str, message: str) -> dict[str, object]:
    return {"code": code, "type": code, "message": message, "traceback": None, "language": "python"}
