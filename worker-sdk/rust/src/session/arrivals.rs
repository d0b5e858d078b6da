//! What frames from the host do to a session, lane by lane.

use ganger_protocol::message::{
    Call, Cancel, CancelReason, Credit, ErrorReport, Release, Stop, Welcome, code,
};
use ganger_protocol::{Arena, BodyError, Encoding, Flags, Frame, Kind, Limits, Reference};

use super::{Effect, Phase, Run, Running, Session};
use crate::nearest::{nearest, shortened};

impl Session {
    pub(super) fn receive_data(&mut self, frame: Frame) -> Result<(), String> {
        if matches!(frame.kind, Kind::Call | Kind::Ping) {
            self.check_order(&frame)?;
        }
        if frame.kind == Kind::Stop {
            self.stop(&frame)
        } else if frame.kind == Kind::Ping {
            self.highest = frame.seq;
            self.was_cancelled(frame.seq);
            self.data_out.push(Frame::new(Kind::Pong, frame.seq));
            Ok(())
        } else if frame.kind == Kind::Release {
            let release = Release::decode(&frame.body);
            let offsets = release.map_err(|error| format!("the body of a RELEASE: {error}"))?.offsets;
            self.effects.push(Effect::Released(offsets));
            Ok(())
        } else if frame.kind != Kind::Call {
            self.assemble(frame)
        } else if self.turns.are_taken() {
            self.line_up(frame)
        } else {
            self.highest = frame.seq;
            self.take_up(frame)
        }
    }

    /// Begins a call whose turn it is, unless it was cancelled before.
    pub(super) fn take_up(&mut self, frame: Frame) -> Result<(), String> {
        let seq = frame.seq;
        if self.was_cancelled(seq) {
            if frame.flags.contains(Flags::MORE) {
                self.assembler.abandon(seq);
            }
            self.answer_cancelled(seq);
        } else {
            self.assemble(frame)?;
        }
        self.set_going(seq);
        Ok(())
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
        if frame.flags.contains(Flags::SHARED) && frame.flags.contains(Flags::MORE) {
            return Err("a reference to shared memory in pieces".to_owned());
        }
        match self.assembler.accept(frame) {
            Ok(Some(whole)) => {
                if matches!(whole.kind, Kind::Input | Kind::InputEnd) {
                    return self.input(whole);
                }
                let shared = self.reference(&whole)?;
                self.begin_call(whole, shared)
            }
            Ok(None) => Ok(()),
            Err(error) if error.is_violation() => Err(error.to_string()),
            Err(error) => {
                self.refuse(&error);
                Ok(())
            }
        }
    }

    /// Whether a cancel came before it. Earlier ones that were remembered can never come now: numbers rise.
    fn was_cancelled(&mut self, seq: u64) -> bool {
        let cancelled = self.early.remove(&seq).is_some();
        if !self.early.is_empty() {
            self.early = self.early.split_off(&self.turns.first(seq).min(seq));
        }
        cancelled
    }

    /// Where in the input arena a payload lies (R43).
    pub(super) fn reference(&self, frame: &Frame) -> Result<Option<Reference>, String> {
        if !frame.flags.contains(Flags::SHARED) {
            return Ok(None);
        }
        let arenas = self.arenas.ok_or("a reference to shared memory that was not agreed on")?;
        let reference = Reference::read(&frame.payload).ok_or("a malformed reference to shared memory")?;
        let end = reference.offset.checked_add(reference.length);
        if reference.arena == Arena::Input && end.is_some_and(|end| end <= arenas.input_size) {
            Ok(Some(reference))
        } else {
            Err("a reference to memory that is not the host's to refer to".to_owned())
        }
    }

    fn begin_call(&mut self, frame: Frame, shared: Option<Reference>) -> Result<(), String> {
        let call = Call::decode(&frame.body).map_err(|error| format!("the body of a CALL: {error}"))?;
        let seq = frame.seq;
        let stands_in = |names: &[String]| names.iter().any(|name| name == call.function);
        if !stands_in(&self.names) {
            let report = self.no_such_function(call.function);
            self.answer_error(seq, &report);
            return Ok(());
        }
        let takes_batches = stands_in(&self.batching);
        let batch = self.join(seq, call.batch.filter(|_| takes_batches))?;
        let encoding = match self.fit(&frame, shared) {
            Ok(encoding) => encoding,
            Err(report) => {
                self.answer_error(seq, &report);
                return Ok(());
            }
        };
        let reads = stands_in(&self.readers);
        self.running.insert(seq, Running::new(reads, batch.clone()));
        let run = Run::of(seq, call, encoding, frame.payload, shared, reads);
        self.start(run, batch.is_some());
        Ok(())
    }

    /// The encoding of an input that can be read, or why it cannot.
    fn fit(&self, frame: &Frame, shared: Option<Reference>) -> Result<Encoding, Box<ErrorReport>> {
        if let Some(Reference { length, .. }) = shared.filter(|shared| shared.length > self.max_payload) {
            let message = format!("the input has {length} bytes, the limit is {}", self.max_payload);
            return Err(Box::new(ErrorReport::new(code::PAYLOAD_TOO_LARGE, "", message)));
        }
        frame.flags.encoding().ok_or_else(|| {
            Box::new(ErrorReport::new(code::INVALID_INPUT, "", "the encoding of the input is unknown"))
        })
    }

    fn no_such_function(&self, name: &str) -> ErrorReport {
        let name = &*shortened(name);
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

    pub(super) fn receive_control(&mut self, frame: &Frame) -> Result<(), String> {
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
        self.arenas = welcome.shared_memory;
        self.assembler.set_limits(Limits { max_payload: welcome.max_payload, ..Limits::default() });
        self.phase = Phase::Loading { stop: false };
        self.effects.push(Effect::Load(Box::new(welcome)));
        Ok(())
    }

    fn cancel(&mut self, seq: u64, reason: CancelReason) {
        let was_under_way = self.assembler.abandon_if_under_way(seq);
        if self.is_running(seq) {
            // What was under way was an item of its input stream.
            self.cancel_running(seq, reason);
        } else if was_under_way {
            self.answer_cancelled(seq);
            self.stop_if_idle();
        } else if seq > self.highest || self.turns.waits(seq) {
            self.early.insert(seq, reason);
        }
    }

    fn credit(&mut self, seq: u64, credit: Credit) {
        if let Some(running) = self.running.get_mut(&seq) {
            let bytes = i64::try_from(credit.bytes).unwrap_or(i64::MAX);
            running.credit_items = running.credit_items.saturating_add(credit.items.into());
            running.credit_bytes = running.credit_bytes.saturating_add(bytes);
            self.effects.push(Effect::Credit { seq });
        }
    }
}
