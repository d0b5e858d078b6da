//! What every frame of a worker is held to, whatever the trial: kept as a book of the conversation.

use std::collections::{BTreeMap, BTreeSet};

use ganger_protocol::message::{
    Credit, ErrorReport, Hello, Log, MAX_CAUSES, MAX_MESSAGE_LENGTH, MAX_TRACEBACK_LENGTH, Progress, Ready,
    Release, code,
};
use ganger_protocol::{
    Assembler, BodyError, Direction, Encoding, Flags, Frame, FrameError, Kind, Lane, Limits,
    STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS,
};

use super::arenas::Arenas;
use super::breach::{Breach, Kept, ensure};
use super::describe::describe;
use super::tokens::Tokens;
use crate::rules::Rule;

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its input was a pickle, and so may its result be.
    pickled: bool,
    /// What it may still send of items, and of their bytes.
    items: i64,
    bytes: i64,
}

/// The book of one link.
#[derive(Debug)]
pub(super) struct Ledger {
    said_hello: bool,
    said_ready: bool,
    open: BTreeMap<u64, Open>,
    ended: BTreeSet<u64>,
    pings: BTreeSet<u64>,
    assembler: Assembler,
    max_payload: u64,
    pub(super) arenas: Option<Arenas>,
    pub(super) tokens: Option<Tokens>,
    /// Calls that were handed over ahead, and those of them that were taken back.
    ahead: BTreeSet<u64>,
    taken_back: BTreeSet<u64>,
}

impl Ledger {
    pub(super) fn new(max_payload: u64, arenas: Option<Arenas>, tokens: Option<Tokens>) -> Self {
        Self {
            said_hello: false,
            said_ready: false,
            open: BTreeMap::new(),
            ended: BTreeSet::new(),
            pings: BTreeSet::new(),
            assembler: Assembler::new(Limits::default()),
            max_payload,
            arenas,
            tokens,
            ahead: BTreeSet::new(),
            taken_back: BTreeSet::new(),
        }
    }

    /// The host has sent this.
    pub(super) fn sent(&mut self, frame: &Frame) {
        if frame.kind == Kind::Call {
            let pickled = frame.flags.encoding() == Some(Encoding::Pickle5);
            let (items, bytes) = (STREAM_CREDIT_ITEMS.into(), STREAM_CREDIT_BYTES as i64);
            self.open.insert(frame.seq, Open { pickled, items, bytes });
            if frame.flags.contains(Flags::AHEAD) {
                self.ahead.insert(frame.seq);
            }
        } else if frame.kind == Kind::Ping {
            self.pings.insert(frame.seq);
        } else if frame.kind == Kind::Credit
            && let Some(call) = self.open.get_mut(&frame.seq)
        {
            let credit = Credit::decode(&frame.body).unwrap_or_default();
            call.items += i64::from(credit.items);
            call.bytes += credit.bytes as i64;
        }
    }

    /// The host has taken a call back that it had handed over.
    pub(super) fn taken_back(&mut self, seq: u64) {
        self.open.remove(&seq);
        self.taken_back.insert(seq);
    }

    /// The worker has: whole frames come back, with their payloads in place of references.
    pub(super) fn hear(&mut self, lane: Lane, frame: Frame) -> Kept<Option<Frame>> {
        ensure(frame.kind.may_travel(lane, Direction::ToHost), 3, "frames on their own lanes", || {
            format!("{} on {lane:?}", describe(&frame))
        })?;
        self.order(lane, &frame)?;
        check_body(&frame)?;
        let between = self.assembler.is_under_way(frame.seq)
            && matches!(frame.kind, Kind::Item | Kind::Result | Kind::Error);
        ensure(!between, 49, "nothing of a call's items or end between the pieces of an ITEM", || {
            describe(&frame)
        })?;
        let Some(mut frame) = self.assembler.accept(frame).map_err(chunk_breach)? else { return Ok(None) };
        self.payload(&mut frame)?;
        self.about(&frame)?;
        Ok(Some(frame))
    }

    /// The order of chapter 4.
    fn order(&mut self, lane: Lane, frame: &Frame) -> Kept {
        let came = || describe(frame);
        match (lane, frame.kind) {
            (Lane::Control, Kind::Hello) => {
                ensure(!self.said_hello, 11, "one HELLO", || "a second one".to_owned())?;
                self.said_hello = true;
            }
            (Lane::Control, _) => ensure(self.said_hello, 11, "HELLO first on control", came)?,
            (Lane::Data, Kind::Ready) => {
                ensure(!self.said_ready, 13, "one READY", || "a second one".to_owned())?;
                self.said_ready = true;
            }
            (Lane::Data, Kind::Log | Kind::Error) if frame.seq == 0 => {
                let late = self.said_ready && frame.kind == Kind::Error;
                ensure(!late, 14, "ERROR with seq 0 only in place of READY", came)?;
            }
            (Lane::Data, _) => ensure(self.said_ready, 13, "READY before anything but LOG", came)?,
        }
        Ok(())
    }

    /// References are followed, sizes and encodings looked at.
    fn payload(&mut self, frame: &mut Frame) -> Kept {
        if frame.flags.contains(Flags::SHARED) {
            let Some(arenas) = &mut self.arenas else {
                let came = describe(frame);
                return Err(Breach::new(42, "SHARED only where WELCOME has shared_memory", came));
            };
            ensure(!frame.flags.contains(Flags::MORE), 43, "no MORE with SHARED", || describe(frame))?;
            frame.payload = arenas.take(&frame.payload)?.into();
        }
        let (length, limit) = (frame.payload.len() as u64, self.max_payload);
        ensure(length <= limit, 6, &format!("payloads of {limit} bytes at most"), || describe(frame))?;
        let pickled = self.open.get(&frame.seq).is_some_and(|call| call.pickled);
        match frame.flags.encoding() {
            Some(Encoding::MessagePack | Encoding::Raw) => Ok(()),
            Some(Encoding::Pickle5) => {
                ensure(pickled, 23, "no pickle unless the host used it", || describe(frame))
            }
            None => Err(Breach::new(23, "an encoding that has a meaning", describe(frame))),
        }
    }

    /// What a frame is about must be under way.
    fn about(&mut self, frame: &Frame) -> Kept {
        let seq = frame.seq;
        if frame.kind == Kind::Pong {
            let known = self.pings.remove(&seq);
            return ensure(known, 34, "PONG with the seq of a PING, once", || describe(frame));
        }
        let of_call = matches!(frame.kind, Kind::Result | Kind::Item | Kind::Progress)
            || (matches!(frame.kind, Kind::Error | Kind::Log) && seq != 0);
        if !of_call {
            return Ok(());
        }
        self.turn(frame)?;
        ensure(!self.ended.contains(&seq), 8, "nothing about a call that has ended", || describe(frame))?;
        ensure(self.open.contains_key(&seq), 7, "the seq of a call that is under way", || describe(frame))?;
        if frame.kind == Kind::Item
            && let Some(call) = self.open.get_mut(&seq)
        {
            let came = || format!("an ITEM with credit of {} items and {} bytes", call.items, call.bytes);
            ensure(call.items > 0 && call.bytes > 0, 29, "no ITEM without credit", came)?;
            call.items -= 1;
            call.bytes -= frame.payload.len() as i64;
        }
        if matches!(frame.kind, Kind::Result | Kind::Error) {
            self.open.remove(&seq);
            self.ended.insert(seq);
        }
        Ok(())
    }

    /// Nothing of a call that was taken back, nor of one that waits for its turn.
    fn turn(&self, frame: &Frame) -> Kept {
        let seq = frame.seq;
        let rule = if is_cancelled(frame) { 63 } else { 62 };
        let came = || describe(frame);
        ensure(!self.taken_back.contains(&seq), rule, "nothing of a call that was taken back", came)?;
        let waits = self.ahead.contains(&seq) && self.open.range(..seq).next().is_some();
        ensure(!waits, rule, "nothing of a call before the one before it is answered", came)
    }
}

fn check_body(frame: &Frame) -> Kept {
    type Read = fn(&[u8]) -> Result<(), BodyError>;
    const READERS: [(Kind, Read); 5] = [
        (Kind::Ready, |body| Ready::decode(body).map(drop)),
        (Kind::Progress, |body| Progress::decode(body).map(drop)),
        (Kind::Log, |body| Log::decode(body).map(drop)),
        (Kind::Credit, |body| Credit::decode(body).map(drop)),
        (Kind::Release, |body| Release::decode(body).map(drop)),
    ];
    if frame.kind == Kind::Hello {
        return check_hello(frame);
    }
    if frame.kind == Kind::Error {
        return check_report(frame);
    }
    match READERS.iter().find(|(kind, _)| *kind == frame.kind) {
        Some((_, read)) => read(&frame.body).map_err(|error| malformed(5, frame, &error)),
        None => ensure(frame.body.is_empty(), 5, "no body with this kind", || describe(frame)),
    }
}

pub(super) fn is_cancelled(frame: &Frame) -> bool {
    frame.kind == Kind::Error
        && ErrorReport::decode(&frame.body).is_ok_and(|report| report.code == code::CANCELLED)
}

fn check_hello(frame: &Frame) -> Kept {
    let hello = Hello::decode(&frame.body).map_err(|error| malformed(11, frame, &error))?;
    let complete = hello.min_version <= hello.max_version
        && hello.pid != 0
        && !hello.sdk.is_empty()
        && !hello.language.is_empty();
    ensure(complete, 11, "HELLO with min_version, max_version, sdk, language and pid", || {
        format!("{hello:?}")
    })
}

fn check_report(frame: &Frame) -> Kept {
    let report = ErrorReport::decode(&frame.body).map_err(|error| malformed(32, frame, &error))?;
    let known = CODES.contains(&report.code.as_str());
    ensure(known, 32, "a code of chapter 6", || describe(frame))?;
    let starts = report.code == code::START_FAILED;
    ensure(starts == (frame.seq == 0), 14, "START_FAILED with seq 0, and only that", || describe(frame))?;
    let mut depth = 0;
    let mut next = Some(&report);
    while let Some(report) = next {
        let cut = report.message.len() <= MAX_MESSAGE_LENGTH
            && report.traceback.as_ref().is_none_or(|text| text.len() <= MAX_TRACEBACK_LENGTH);
        ensure(cut, 32, "a message of 64 KiB and a traceback of 256 KiB at most", || {
            format!("{} and {:?} bytes", report.message.len(), report.traceback.as_ref().map(String::len))
        })?;
        next = report.cause.as_deref();
        depth += usize::from(next.is_some());
    }
    ensure(depth <= MAX_CAUSES, 32, "16 causes at most", || format!("{depth}"))
}

fn malformed(rule: Rule, frame: &Frame, error: &BodyError) -> Breach {
    Breach::new(rule, format!("a body of {} as chapter 3 has it", frame.kind), format!("{error}"))
}

fn chunk_breach(error: FrameError) -> Breach {
    let sums = matches!(error, FrameError::ChunkTotalMissing { .. } | FrameError::ChunkSumWrong { .. });
    let too_large = matches!(error, FrameError::PayloadTooLarge { .. });
    let rule = if sums {
        9
    } else if too_large {
        6
    } else {
        10
    };
    Breach::new(rule, "pieces that add up to their total, one payload a seq at a time", error.to_string())
}

const CODES: [&str; 7] = [
    code::CALL_FAILED,
    code::NO_SUCH_FUNCTION,
    code::INVALID_INPUT,
    code::INVALID_RESULT,
    code::PAYLOAD_TOO_LARGE,
    code::CANCELLED,
    code::START_FAILED,
];
