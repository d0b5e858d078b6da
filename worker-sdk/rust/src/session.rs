//! The worker's side of the protocol without IO, threads or clock: frames and reports go in, frames and
//! effects come out.
//!
//! Who holds a session gives it what happened, then takes [`data_out`](Session::data_out),
//! [`control_out`](Session::control_out) and the [`effects`](Session::effects). The transcripts of the
//! protocol are its tests.

use std::collections::BTreeMap;

use ganger_protocol::message::{
    Attach, Call, Cancel, CancelReason, Contract, Credit, ErrorReport, Hello, Ready, Stop, Welcome, code,
};
use ganger_protocol::{
    Assembler, BodyError, Bytes, Direction, Encoding, Flags, Frame, FrameError, Kind, Lane, Limits,
    MAX_BODY_LENGTH, STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS, VIOLATION_EXIT_CODE,
};

use crate::nearest::nearest;

/// What a session wants of its worker.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Run the start-up hooks.
    Load(Box<Welcome>),
    /// Run a function.
    Run(Box<Run>),
    /// Ask a running call to stop.
    Cancel { seq: u64, reason: CancelReason },
    /// A stream may have room again.
    Credit,
    /// Run the shutdown hooks.
    Shutdown,
    /// Write what is queued, then exit. A violation comes with the line for stderr.
    Exit { code: i32, complaint: Option<String> },
    /// Exit at once: nobody reads any more (R1).
    Vanish,
}

/// A call to run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seq: u64,
    pub(crate) function: String,
    pub(crate) attempt: u32,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) shape: ganger_protocol::message::Shape,
    pub(crate) context: BTreeMap<String, String>,
    pub(crate) encoding: Encoding,
    pub(crate) payload: Bytes,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Result(Encoding, Bytes),
    Failed(Box<ErrorReport>),
    /// It ended because it was asked to.
    Cancelled,
}

/// What became of a stream's item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Queued,
    /// No credit: the producer waits for [`Effect::Credit`] or a cancel.
    Wait,
    TooLarge,
}

#[derive(Debug)]
enum Phase {
    /// HELLO is sent.
    Greeting,
    /// WELCOME came; the start-up hooks run.
    Loading { stop: bool },
    /// READY is sent.
    Serving,
    /// STOP came; running calls end.
    Stopping,
    /// Nothing matters any more.
    Ending,
}

#[derive(Debug)]
struct Running {
    cancelled: bool,
    credit_items: i64,
    credit_bytes: i64,
}

/// The state of one worker towards its host.
#[derive(Debug)]
pub(crate) struct Session {
    phase: Phase,
    hello: Hello,
    names: Vec<String>,
    max_payload: u64,
    assembler: Assembler,
    running: BTreeMap<u64, Running>,
    /// The highest seq of a call or ping that came (R7, R26).
    highest: u64,
    /// Cancels that overtook their call.
    ahead: BTreeMap<u64, CancelReason>,
    pub(crate) data_out: Vec<Frame>,
    pub(crate) control_out: Vec<Frame>,
    pub(crate) effects: Vec<Effect>,
}

impl Session {
    /// A session that has just said HELLO.
    pub(crate) fn new(hello: Hello, attach: Option<Attach>) -> Self {
        let mut session = Self {
            phase: Phase::Greeting,
            names: Vec::new(),
            max_payload: Limits::default().max_payload,
            assembler: Assembler::new(Limits::default()),
            running: BTreeMap::new(),
            highest: 0,
            ahead: BTreeMap::new(),
            data_out: Vec::new(),
            control_out: Vec::new(),
            effects: Vec::new(),
            hello,
        };
        if let Some(attach) = attach {
            let on = |lane| Attach { lane: Some(lane), ..attach.clone() }.encode();
            session.data_out.push(Frame::new(Kind::Attach, 0).with_body(on(Lane::Data)));
            session.control_out.push(Frame::new(Kind::Attach, 0).with_body(on(Lane::Control)));
        }
        let greeting = Frame::new(Kind::Hello, 0).with_body(session.hello.encode());
        session.control_out.push(greeting);
        session
    }

    /// Takes a frame from the host.
    pub(crate) fn receive(&mut self, lane: Lane, frame: Frame) {
        if matches!(self.phase, Phase::Ending) {
            return;
        }
        if !frame.kind.may_travel(lane, Direction::ToWorker) {
            return self.violation(format!("a {} frame on the wrong lane", frame.kind));
        }
        let taken = match lane {
            Lane::Data => self.receive_data(frame),
            Lane::Control => self.receive_control(&frame),
        };
        if let Err(complaint) = taken {
            self.violation(complaint);
        }
    }

    /// Takes what a decoder found wrong with the host's bytes.
    pub(crate) fn refuse(&mut self, error: &FrameError) {
        match *error {
            FrameError::PayloadTooLarge { seq, kind: kind @ (Kind::Call | Kind::Chunk), .. } => {
                let was_under_way = self.assembler.is_under_way(seq);
                self.assembler.abandon(seq);
                self.highest = self.highest.max(seq);
                self.ahead.remove(&seq);
                // A chunk of a call that has had its answer needs no other one.
                if kind == Kind::Call || was_under_way {
                    let report = ErrorReport::new(code::PAYLOAD_TOO_LARGE, "", error.to_string());
                    self.answer_error(seq, &report);
                    self.stop_if_idle();
                }
            }
            FrameError::PayloadTooLarge { kind: Kind::Input, .. } => {}
            FrameError::PayloadTooLarge { .. }
            | FrameError::BodyLongerThanFrame { .. }
            | FrameError::BodyTooLarge { .. }
            | FrameError::UnknownCriticalKind { .. }
            | FrameError::ChunkTotalMissing { .. }
            | FrameError::ChunkSumWrong { .. }
            | FrameError::ChunkWithoutStart { .. }
            | FrameError::ChunksOverlap { .. }
            | FrameError::TooManyChunked { .. } => self.violation(error.to_string()),
        }
    }

    /// A lane ended: the host is gone (R1).
    pub(crate) fn host_gone(&mut self) {
        self.phase = Phase::Ending;
        self.effects.push(Effect::Vanish);
    }

    /// The start-up hooks have returned.
    pub(crate) fn loaded(&mut self, functions: Vec<Contract>) {
        let Phase::Loading { stop } = self.phase else { return };
        self.names = functions.iter().map(|contract| contract.name.clone()).collect();
        self.data_out.push(Frame::new(Kind::Ready, 0).with_body(Ready { functions }.encode()));
        self.phase = if stop { Phase::Stopping } else { Phase::Serving };
        self.stop_if_idle();
    }

    /// A start-up hook failed (R14).
    pub(crate) fn load_failed(&mut self, report: ErrorReport) {
        let report = ErrorReport { code: code::START_FAILED.to_owned(), ..report };
        self.answer_error(0, &report);
        self.end(1, None);
    }

    /// A call ended. What is not running any more is ignored: a call has one end (R8).
    pub(crate) fn finish(&mut self, seq: u64, outcome: Outcome) {
        let Some(running) = self.running.remove(&seq) else { return };
        match outcome {
            Outcome::Result(encoding, payload) if payload.len() as u64 <= self.max_payload => {
                self.data_out.push(Frame::new(Kind::Result, seq).with_payload(encoding, payload));
            }
            Outcome::Result(_, payload) => self.answer_error(seq, &self.too_large(payload.len())),
            Outcome::Failed(report) => self.answer_error(seq, &report),
            Outcome::Cancelled => {
                let code = if running.cancelled { code::CANCELLED } else { code::CALL_FAILED };
                self.answer_error(seq, &ErrorReport::new(code, "Cancelled", "the call was cancelled"));
            }
        }
        self.stop_if_idle();
    }

    /// A stream has an item (R29).
    pub(crate) fn item(&mut self, seq: u64, encoding: Encoding, payload: &Bytes) -> Sent {
        if payload.len() as u64 > self.max_payload {
            return Sent::TooLarge;
        }
        let Some(running) = self.running.get_mut(&seq) else { return Sent::Queued };
        if running.credit_items <= 0 || running.credit_bytes <= 0 {
            return Sent::Wait;
        }
        running.credit_items -= 1;
        running.credit_bytes -= i64::try_from(payload.len()).unwrap_or(i64::MAX);
        self.data_out.push(Frame::new(Kind::Item, seq).with_payload(encoding, payload.clone()));
        Sent::Queued
    }

    /// A call, or the worker itself (seq 0), has something to say: LOG or PROGRESS (R38).
    pub(crate) fn say(&mut self, kind: Kind, seq: u64, body: Vec<u8>) {
        // What is too long for a frame would end the worker; a record that is lost does not.
        let fits = body.len() <= MAX_BODY_LENGTH as usize;
        if fits && (seq == 0 || self.running.contains_key(&seq)) {
            self.data_out.push(Frame::new(kind, seq).with_body(body));
        }
    }

    /// The shutdown hooks have returned.
    pub(crate) fn hooks_done(&mut self) {
        self.end(0, None);
    }

    /// The report for a payload beyond the limit (R6).
    pub(crate) fn too_large(&self, length: usize) -> ErrorReport {
        let message = format!("the result has {length} bytes, the limit is {}", self.max_payload);
        ErrorReport::new(code::PAYLOAD_TOO_LARGE, "", message)
    }

    fn receive_data(&mut self, frame: Frame) -> Result<(), String> {
        if matches!(frame.kind, Kind::Call | Kind::Ping) {
            self.check_order(&frame)?;
        }
        if frame.kind == Kind::Stop {
            self.stop(&frame)
        } else if frame.kind == Kind::Ping {
            self.saw(frame.seq);
            self.data_out.push(Frame::new(Kind::Pong, frame.seq));
            Ok(())
        } else if matches!(frame.kind, Kind::Input | Kind::InputEnd) {
            // Input streams are not offered by any function of this SDK: what comes of one is dropped.
            Ok(())
        } else if frame.kind == Kind::Call && self.saw(frame.seq) {
            if frame.flags.contains(Flags::MORE) {
                self.assembler.abandon(frame.seq);
            }
            self.answer_cancelled(frame.seq);
            Ok(())
        } else {
            self.assemble(frame)
        }
    }

    fn check_order(&self, frame: &Frame) -> Result<(), String> {
        if !matches!(self.phase, Phase::Serving) {
            Err(format!("a {} frame out of order", frame.kind))
        } else if frame.seq <= self.highest {
            Err(format!("seq {} after {}", frame.seq, self.highest))
        } else {
            Ok(())
        }
    }

    fn assemble(&mut self, frame: Frame) -> Result<(), String> {
        match self.assembler.accept(frame) {
            Ok(Some(whole)) => self.begin_call(whole).map_err(|error| format!("the body of a CALL: {error}")),
            Ok(None) => Ok(()),
            Err(error) if error.is_violation() => Err(error.to_string()),
            Err(error) => {
                self.refuse(&error);
                Ok(())
            }
        }
    }

    /// Notes a seq; true if a cancel overtook it. Earlier ones that were remembered can never come now:
    /// numbers rise.
    fn saw(&mut self, seq: u64) -> bool {
        self.highest = seq;
        let cancelled = self.ahead.remove(&seq).is_some();
        self.ahead = self.ahead.split_off(&seq);
        cancelled
    }

    fn begin_call(&mut self, frame: Frame) -> Result<(), BodyError> {
        let call = Call::decode(&frame.body)?;
        let seq = frame.seq;
        if !self.names.iter().any(|name| name == call.function) {
            let report = self.no_such_function(call.function);
            self.answer_error(seq, &report);
            return Ok(());
        }
        let Some(encoding) = frame.flags.encoding().filter(|_| !frame.flags.contains(Flags::SHARED)) else {
            let report = ErrorReport::new(code::INVALID_INPUT, "", "the encoding of the input is unknown");
            self.answer_error(seq, &report);
            return Ok(());
        };
        let running = Running {
            cancelled: false,
            credit_items: STREAM_CREDIT_ITEMS.into(),
            credit_bytes: STREAM_CREDIT_BYTES.cast_signed(),
        };
        self.running.insert(seq, running);
        let run = Run {
            seq,
            function: call.function.to_owned(),
            attempt: call.attempt,
            timeout_ms: call.timeout_ms,
            shape: call.shape,
            context: call.context.map(std::borrow::Cow::into_owned).unwrap_or_default(),
            encoding,
            payload: frame.payload,
        };
        self.effects.push(Effect::Run(Box::new(run)));
        Ok(())
    }

    fn no_such_function(&self, name: &str) -> ErrorReport {
        let hint = match nearest(name, self.names.iter().map(String::as_str)) {
            Some(near) => format!("no function {name:?}; did you mean {near:?}?"),
            None => format!("no function {name:?}"),
        };
        ErrorReport::new(code::NO_SUCH_FUNCTION, "", hint)
    }

    fn stop(&mut self, frame: &Frame) -> Result<(), String> {
        Stop::decode(&frame.body).map_err(|error| format!("the body of a STOP: {error}"))?;
        match self.phase {
            Phase::Greeting => return Err("a STOP frame out of order".to_owned()),
            Phase::Loading { .. } => self.phase = Phase::Loading { stop: true },
            Phase::Serving => self.phase = Phase::Stopping,
            Phase::Stopping | Phase::Ending => return Ok(()),
        }
        self.stop_if_idle();
        Ok(())
    }

    fn stop_if_idle(&mut self) {
        if matches!(self.phase, Phase::Stopping) && self.running.is_empty() && self.assembler.is_idle() {
            // Calls are over, but the hooks may log: nothing that comes matters, what goes still does.
            self.phase = Phase::Ending;
            self.effects.push(Effect::Shutdown);
        }
    }

    fn receive_control(&mut self, frame: &Frame) -> Result<(), String> {
        let malformed = |error: BodyError| format!("the body of a {}: {error}", frame.kind);
        if frame.kind == Kind::Welcome {
            return self.welcome(Welcome::decode(&frame.body).map_err(malformed)?);
        }
        if frame.kind == Kind::Cancel {
            let cancel = Cancel::decode(&frame.body).map_err(malformed)?;
            self.cancel(frame.seq, cancel.reason);
        } else {
            let credit = Credit::decode(&frame.body).map_err(malformed)?;
            self.credit(frame.seq, credit);
        }
        Ok(())
    }

    fn welcome(&mut self, welcome: Welcome) -> Result<(), String> {
        if !matches!(self.phase, Phase::Greeting) {
            return Err("a second WELCOME".to_owned());
        }
        if !(self.hello.min_version..=self.hello.max_version).contains(&welcome.version) {
            return Err(format!("version {} was not offered", welcome.version));
        }
        self.max_payload = welcome.max_payload;
        self.assembler.set_limits(Limits { max_payload: welcome.max_payload, ..Limits::default() });
        self.phase = Phase::Loading { stop: false };
        self.effects.push(Effect::Load(Box::new(welcome)));
        Ok(())
    }

    fn cancel(&mut self, seq: u64, reason: CancelReason) {
        if self.assembler.abandon_if_under_way(seq) {
            self.answer_cancelled(seq);
            self.stop_if_idle();
        } else if let Some(running) = self.running.get_mut(&seq) {
            if !std::mem::replace(&mut running.cancelled, true) {
                self.effects.push(Effect::Cancel { seq, reason });
            }
        } else if seq > self.highest {
            self.ahead.insert(seq, reason);
        }
    }

    fn credit(&mut self, seq: u64, credit: Credit) {
        if let Some(running) = self.running.get_mut(&seq) {
            let bytes = i64::try_from(credit.bytes).unwrap_or(i64::MAX);
            running.credit_items = running.credit_items.saturating_add(credit.items.into());
            running.credit_bytes = running.credit_bytes.saturating_add(bytes);
            self.effects.push(Effect::Credit);
        }
    }

    fn answer_cancelled(&mut self, seq: u64) {
        self.answer_error(seq, &ErrorReport::new(code::CANCELLED, "Cancelled", "the call was cancelled"));
    }

    fn answer_error(&mut self, seq: u64, report: &ErrorReport) {
        let body = if report.language.is_empty() {
            ErrorReport { language: self.hello.language.clone(), ..report.clone() }.encode()
        } else {
            report.encode()
        };
        self.data_out.push(Frame::new(Kind::Error, seq).with_body(body));
    }

    fn violation(&mut self, complaint: String) {
        self.end(VIOLATION_EXIT_CODE, Some(complaint));
    }

    fn end(&mut self, code: i32, complaint: Option<String>) {
        self.phase = Phase::Ending;
        self.effects.push(Effect::Exit { code, complaint });
    }
}

#[cfg(test)]
mod transcript;
