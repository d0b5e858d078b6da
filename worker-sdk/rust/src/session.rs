//! The worker's side of the protocol without IO, threads or clock: frames and reports go in, frames and
//! effects come out.
//!
//! Who holds a session gives it what happened, then takes [`data_out`](Session::data_out),
//! [`control_out`](Session::control_out) and the [`effects`](Session::effects). The transcripts of the
//! protocol are its tests.

mod arrivals;
mod batches;
mod running;
mod streams;
#[cfg(test)]
mod transcript;
mod turns;

use std::collections::BTreeMap;

use ganger_protocol::message::{
    Attach, CancelReason, Contract, ErrorReport, Hello, Ready, SharedMemory, Welcome, code,
};
use ganger_protocol::{
    Assembler, Bytes, Direction, Encoding, Flags, Frame, FrameError, Kind, Lane, Limits, MAX_BODY_LENGTH,
    Reference, VIOLATION_EXIT_CODE,
};

use running::Running;
pub(crate) use running::{InputItem, Run};
pub(crate) use turns::Claims;

/// What a session wants of its worker.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Run the start-up hooks.
    Load(Box<Welcome>),
    /// Run a function.
    Run(Box<Run>),
    /// Run a function with the inputs of several calls.
    RunTogether(Vec<Run>),
    /// Ask a running call to stop.
    Cancel { seq: u64, reason: CancelReason },
    /// A stream may have room again.
    Credit { seq: u64 },
    /// Give a running call an item of its input stream.
    Input { seq: u64, item: InputItem },
    /// The input stream of a running call has ended.
    InputEnd { seq: u64 },
    /// The host has done with blocks of shared memory.
    Released(Vec<u64>),
    /// Run the shutdown hooks.
    Shutdown,
    /// Write what is queued, then exit. A violation comes with the line for stderr.
    Exit { code: i32, complaint: Option<String> },
    /// Exit at once: nobody reads any more (R1).
    Vanish,
}

/// How a call ended.
#[derive(Clone, Debug)]
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
    /// The call has ended.
    Over,
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

/// The state of one worker towards its host.
#[derive(Debug)]
pub(crate) struct Session {
    phase: Phase,
    hello: Hello,
    names: Vec<String>,
    /// Those that read an input stream.
    readers: Vec<String>,
    /// Those that take batches.
    batching: Vec<String>,
    gathering: Option<batches::Gathering>,
    max_payload: u64,
    /// The arenas, if both sides can.
    arenas: Option<SharedMemory>,
    assembler: Assembler,
    running: BTreeMap<u64, Running>,
    /// The highest seq of a call or ping that came (R7, R26).
    highest: u64,
    /// Cancels that came before their call did, or before its turn.
    early: BTreeMap<u64, CancelReason>,
    turns: turns::Turns,
    pub(crate) data_out: Vec<Frame>,
    pub(crate) control_out: Vec<Frame>,
    pub(crate) effects: Vec<Effect>,
    attaches: bool,
}

const NOT_ATTACHED_EXIT: i32 = 1;
/// For the person who attaches by hand.
const NOT_ATTACHED: &str = "cannot attach: the pool let this worker go at once; is the token right?";

impl Session {
    /// A session that has just said HELLO.
    pub(crate) fn new(hello: Hello, attach: Option<Attach>) -> Self {
        let mut session = Self {
            phase: Phase::Greeting,
            names: Vec::new(),
            readers: Vec::new(),
            batching: Vec::new(),
            gathering: None,
            max_payload: Limits::default().max_payload,
            arenas: None,
            assembler: Assembler::new(Limits::default()),
            running: BTreeMap::new(),
            highest: 0,
            early: BTreeMap::new(),
            turns: turns::Turns::default(),
            data_out: Vec::new(),
            control_out: Vec::new(),
            effects: Vec::new(),
            attaches: attach.is_some(),
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
            FrameError::PayloadTooLarge { seq, kind: Kind::Chunk, .. } if self.running.contains_key(&seq) => {
                self.assembler.abandon(seq);
                self.input_too_large(seq, &error.to_string());
            }
            FrameError::PayloadTooLarge { seq, kind: kind @ (Kind::Call | Kind::Chunk), .. } => {
                let was_under_way = self.assembler.is_under_way(seq);
                self.assembler.abandon(seq);
                self.highest = self.highest.max(seq);
                self.early.remove(&seq);
                // A chunk of a call that has had its answer needs no other one.
                if kind == Kind::Call || was_under_way {
                    let report = ErrorReport::new(code::PAYLOAD_TOO_LARGE, "", error.to_string());
                    self.answer_error(seq, &report);
                    self.set_going(seq);
                    self.stop_if_idle();
                }
            }
            FrameError::PayloadTooLarge { seq, kind: Kind::Input, .. } => {
                self.assembler.abandon(seq);
                self.input_too_large(seq, &error.to_string());
            }
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
        if self.attaches && matches!(self.phase, Phase::Greeting) {
            return self.end(NOT_ATTACHED_EXIT, Some(NOT_ATTACHED.to_owned()));
        }
        self.phase = Phase::Ending;
        self.effects.push(Effect::Vanish);
    }

    /// The start-up hooks have returned.
    pub(crate) fn loaded(&mut self, functions: Vec<Contract>) {
        let Phase::Loading { stop } = self.phase else { return };
        self.names = functions.iter().map(|contract| contract.name.clone()).collect();
        let readers = functions.iter().filter(|contract| contract.inputs.is_some());
        self.readers = readers.map(|contract| contract.name.clone()).collect();
        let batching = functions.iter().filter(|contract| contract.batch.is_some());
        self.batching = batching.map(|contract| contract.name.clone()).collect();
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
        self.assembler.abandon_if_under_way(seq);
        match running.refused.map_or(outcome, Outcome::Failed) {
            Outcome::Result(encoding, payload) if payload.len() as u64 <= self.max_payload => {
                self.answer(Frame::new(Kind::Result, seq).with_payload(encoding, payload));
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

    /// The same with a result that lies in shared memory. False: the call is not running any more, or ends in another way, and nobody hears of it.
    pub(crate) fn finish_shared(&mut self, seq: u64, encoding: Encoding, reference: Reference) -> bool {
        match self.running.remove(&seq) {
            None => return false,
            Some(Running { refused: Some(report), .. }) => {
                self.answer_error(seq, &report);
                self.stop_if_idle();
                return false;
            }
            Some(Running { refused: None, .. }) => {}
        }
        self.assembler.abandon_if_under_way(seq);
        let mut frame = Frame::new(Kind::Result, seq).with_payload(encoding, reference.to_bytes().to_vec());
        frame.flags = frame.flags.with(Flags::SHARED);
        self.answer(frame);
        self.stop_if_idle();
        true
    }

    /// A call, or the worker itself (seq 0), has something to say: LOG or PROGRESS (R38). False: nobody hears of it.
    pub(crate) fn say(&mut self, kind: Kind, seq: u64, body: Bytes) -> bool {
        // What is too long for a frame would end the worker; a record that is lost does not.
        let goes = body.len() <= MAX_BODY_LENGTH as usize && (seq == 0 || self.running.contains_key(&seq));
        if goes {
            self.data_out.push(Frame::new(kind, seq).with_body(body));
        }
        goes
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

    fn stop_if_idle(&mut self) {
        let is_idle = self.running.is_empty() && self.assembler.is_idle() && self.turns.nobody_waits();
        if matches!(self.phase, Phase::Stopping) && is_idle {
            // Calls are over, but the hooks may log: nothing that comes matters, what goes still does.
            self.phase = Phase::Ending;
            self.effects.push(Effect::Shutdown);
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
        self.answer(Frame::new(Kind::Error, seq).with_body(body));
    }

    fn answer(&mut self, frame: Frame) {
        self.data_out.push(frame);
        self.turns.has_answered();
    }

    fn violation(&mut self, complaint: String) {
        self.end(VIOLATION_EXIT_CODE, Some(format!("protocol violation: {complaint}")));
    }

    fn end(&mut self, code: i32, complaint: Option<String>) {
        self.phase = Phase::Ending;
        self.effects.push(Effect::Exit { code, complaint });
    }
}
