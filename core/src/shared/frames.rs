//! What a worker says, and what that means.

use std::sync::{Arc, Weak};

use ganger_protocol::message::{Contract, ErrorReport as WireReport, Hello, Log, Ready, Release, Welcome};
use ganger_protocol::{Encoding, Flags, Frame, FrameError, Kind, Lane};
use ganger_scheduler::{CallId, Input as News, Timestamp, WorkerId};

use super::books::{Books, Handshake, Member, Process};
use super::in_flight::InFlight;
use super::settling::{error_from_report, start_error_from_report};
use super::{Aftermath, Shared};
use crate::call::{Outcome, Place, Reply};
use crate::error::Error;
use crate::link::Listener;
use crate::sampler;

/// Listens to one worker on behalf of its pool, without keeping the pool alive.
#[derive(Clone, Debug)]
pub(crate) struct WorkerNews {
    pool: Weak<Shared>,
    worker: WorkerId,
}

/// Why a frame cannot be accepted, for the worker's obituary.
pub(super) type Violation = String;

impl WorkerNews {
    pub(super) fn new(pool: Weak<Shared>, worker: WorkerId) -> Self {
        Self { pool, worker }
    }

    pub(crate) fn worker(&self) -> WorkerId {
        self.worker
    }

    pub(crate) fn pool(&self) -> Option<Arc<Shared>> {
        self.pool.upgrade()
    }
}

impl Listener for WorkerNews {
    /// One step for all frames of a turn: under load the lock is taken once for many answers.
    fn frames(&self, lane: Lane, frames: Vec<Frame>) {
        let Some(shared) = self.pool() else { return };
        shared.step(|books, now, aftermath| {
            for frame in frames {
                let heard = Heard { shared: &shared, worker: self.worker, now };
                if let Err(violation) = books.hear(&heard, lane, frame, aftermath) {
                    books.violated(self.worker, violation, now, aftermath);
                    return;
                }
            }
        });
    }

    fn too_large(&self, kind: Kind, seq: u64, length: u64, limit: u64) {
        let Some(shared) = self.pool() else { return };
        shared.step(|books, now, aftermath| {
            if kind == Kind::Item {
                let error = Error::payload_too_large("item", length, limit);
                return books.item_refused(self.worker, seq, error, now, aftermath);
            }
            let error = Error::payload_too_large("result", length, limit);
            books.answered(self.worker, seq, Err(Box::new(error)), now, aftermath);
        });
    }

    fn violated(&self, error: FrameError) {
        let Some(shared) = self.pool() else { return };
        shared.step(|books, now, aftermath| books.violated(self.worker, error.to_string(), now, aftermath));
    }
}

/// Who said something, and when.
pub(super) struct Heard<'a> {
    pub(super) shared: &'a Shared,
    pub(super) worker: WorkerId,
    pub(super) now: Timestamp,
}

impl Heard<'_> {
    /// What the pool and its new worker agree on.
    fn welcome(&self, member: &mut Member, hello: &Hello, version: u16) -> Welcome {
        let options = &self.shared.options;
        let alone = options.concurrency.get() == 1;
        let claims_fd = member.ahead.agree(hello.ahead && alone).then(|| member.loans.first_free_fd());
        Welcome {
            version,
            pool: options.name.clone(),
            worker: self.worker.index,
            generation: self.worker.generation,
            concurrency: options.concurrency.get(),
            max_payload: options.max_payload,
            cancel_grace_ms: milliseconds(options.cancel_grace),
            stop_timeout_ms: milliseconds(options.stop_timeout),
            device: member.device.as_deref().map(str::to_owned),
            shared_memory: member.loans.agree(hello.shared_memory),
            claims_fd,
        }
    }
}

impl Books {
    pub(crate) fn violated(
        &mut self,
        worker: WorkerId,
        how: Violation,
        now: Timestamp,
        aftermath: &mut Aftermath,
    ) {
        let Some(member) = self.crew.get_mut(&worker) else { return };
        tracing::warn!(pool = %self.pool, %worker, violation = how, "a worker broke the protocol");
        member.violation.get_or_insert(how);
        self.tell(now, News::Violated { worker }, aftermath);
    }

    fn hear(
        &mut self,
        heard: &Heard<'_>,
        lane: Lane,
        frame: Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        if !frame.kind.may_travel(lane, ganger_protocol::Direction::ToHost) {
            return Err(format!("a {} frame on the {lane:?} lane", frame.kind));
        }
        let (worker, now) = (heard.worker, heard.now);
        match frame.kind {
            Kind::Hello => self.greet(heard, &frame, aftermath),
            Kind::Ready => self.make_ready(heard, &frame, aftermath),
            Kind::Result => self.hear_result(heard, frame, aftermath),
            Kind::Error => self.hear_error(heard, frame, aftermath),
            Kind::Log => self.hear_log(heard, &frame, aftermath),
            Kind::Item => self.hear_item(heard, frame, aftermath),
            Kind::Progress => self.hear_progress(heard, &frame, aftermath),
            Kind::Credit => self.hear_credit(heard, &frame, aftermath),
            Kind::Release => self.hear_release(worker, &frame),
            Kind::Pong => {
                self.tell(now, News::Pong { worker }, aftermath);
                Ok(())
            }
            Kind::Attach => Err("a second ATTACH".to_owned()),
            Kind::Call
            | Kind::Input
            | Kind::InputEnd
            | Kind::Ping
            | Kind::Stop
            | Kind::Chunk
            | Kind::Welcome
            | Kind::Cancel => Err(format!("a {} frame from a worker", frame.kind)),
        }
    }

    fn greet(
        &mut self,
        heard: &Heard<'_>,
        frame: &Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let hello = Hello::decode(&frame.body).map_err(|error| error.to_string())?;
        let version = hello.common_version().ok_or_else(|| {
            format!("it speaks versions {} to {} of the protocol only", hello.min_version, hello.max_version)
        })?;
        let member = self.crew.get_mut(&heard.worker).ok_or("a HELLO after the end")?;
        if !matches!(member.handshake, Handshake::Silent) {
            return Err("a second HELLO".to_owned());
        }
        let welcome = heard.welcome(member, &hello, version);
        if let Process::Attached { pid, .. } = &mut member.process {
            *pid = u32::try_from(hello.pid).ok();
        }
        member.handshake = Handshake::Welcomed;
        if let Some(link) = member.link().cloned() {
            link.push(Lane::Control, Frame::new(Kind::Welcome, 0).with_body(welcome.encode()));
            aftermath.flush(link);
        }
        Ok(())
    }

    fn make_ready(
        &mut self,
        heard: &Heard<'_>,
        frame: &Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let ready = Ready::decode(&frame.body).map_err(|error| error.to_string())?;
        let functions: Arc<[Contract]> = ready.functions.into();
        let member = self.crew.get_mut(&heard.worker).ok_or("a READY after the end")?;
        let member_pid = member.pid();
        match std::mem::replace(&mut member.handshake, Handshake::Silent) {
            Handshake::Welcomed => member.handshake = Handshake::Ready(Arc::clone(&functions)),
            Handshake::Silent => return Err("READY before HELLO".to_owned()),
            Handshake::Ready(..) => return Err("a second READY".to_owned()),
        }
        self.learn(&functions, heard.now, aftermath);
        if let Some(memory) = member_pid.and_then(|pid| heard.shared.memory_at_start(pid)) {
            let bytes = memory.private_bytes();
            self.note_memory(heard.worker, bytes, memory);
            self.tell(heard.now, News::Headroom { memory: sampler::headroom() }, aftermath);
            self.tell(heard.now, News::Sample { worker: heard.worker, memory: bytes }, aftermath);
        }
        if self.crew.get(&heard.worker).is_some_and(|member| member.ahead.is_agreed()) {
            self.tell(heard.now, News::Claims { worker: heard.worker }, aftermath);
        }
        self.tell(heard.now, News::Ready { worker: heard.worker }, aftermath);
        Ok(())
    }

    fn hear_result(
        &mut self,
        heard: &Heard<'_>,
        mut frame: Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        self.require_running(heard.worker, &frame)?;
        let encoding = frame.flags.encoding().ok_or("a result in an unknown encoding")?;
        let outcome = match self.bring_in(heard, &mut frame)? {
            Ok(_) if self.is_gathered(heard.worker, frame.seq) => self.gathered(heard, frame.seq),
            Ok(place) => {
                let view = frame.flags.contains(Flags::VIEW) && encoding == Encoding::Raw;
                Ok(Reply { encoding, payload: frame.payload, view, place, attempts: 0 })
            }
            Err(too_large) => Err(too_large),
        };
        self.answered(heard.worker, frame.seq, outcome, heard.now, aftermath);
        Ok(())
    }

    /// What came with a call, or items of its input stream.
    fn hear_release(&mut self, worker: WorkerId, frame: &Frame) -> Result<(), Violation> {
        let release = Release::decode(&frame.body).map_err(|error| error.to_string())?;
        let Some(member) = self.crew.get_mut(&worker) else { return Ok(()) };
        if release.offsets.is_empty() {
            member.loans.given_back(frame.seq);
        } else {
            member.loans.items_given_back(frame.seq, &release.offsets);
        }
        Ok(())
    }

    /// Puts what a reference refers to in its place, takes back what the call was lent, and says where it lies.
    fn bring_in(
        &mut self,
        heard: &Heard<'_>,
        frame: &mut Frame,
    ) -> Result<Result<Option<Place>, Box<Error>>, Violation> {
        let Some(member) = self.crew.get_mut(&heard.worker) else { return Ok(Ok(None)) };
        let link = member.link().map(Arc::downgrade).unwrap_or_default();
        let mut place = None;
        if frame.flags.contains(Flags::SHARED) {
            let found = member.loans.resolve(frame, link)?;
            (frame.payload, place) = (found.bytes, Some(found.place));
        }
        if !frame.flags.contains(Flags::HELD) {
            member.loans.given_back(frame.seq);
        }
        let (length, limit) = (frame.payload.len() as u64, heard.shared.options.max_payload);
        Ok(if length > limit {
            Err(Box::new(Error::payload_too_large("result", length, limit)))
        } else {
            Ok(place)
        })
    }

    fn hear_error(
        &mut self,
        heard: &Heard<'_>,
        mut frame: Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let report = WireReport::decode(&frame.body).map_err(|error| error.to_string())?;
        if frame.seq == 0 {
            return self.hear_start_failure(heard.worker, report);
        }
        self.require_running(heard.worker, &frame)?;
        let error = match self.bring_in(heard, &mut frame)? {
            Ok(_) => error_from_report(report, frame.payload)?,
            Err(too_large) => *too_large,
        };
        self.answered(heard.worker, frame.seq, Err(Box::new(error)), heard.now, aftermath);
        Ok(())
    }

    /// The worker exits by itself now; its exit is what ends the start, and finds this beside its name.
    fn hear_start_failure(&mut self, worker: WorkerId, report: WireReport) -> Result<(), Violation> {
        let member = self.crew.get_mut(&worker).ok_or("an error after the end")?;
        if matches!(member.handshake, Handshake::Ready(..)) {
            return Err("an ERROR about no call after READY".to_owned());
        }
        member.start_error = Some(start_error_from_report(report));
        Ok(())
    }

    fn hear_log(
        &mut self,
        heard: &Heard<'_>,
        frame: &Frame,
        aftermath: &mut Aftermath,
    ) -> Result<(), Violation> {
        let log = Log::decode(&frame.body).map_err(|error| error.to_string())?;
        let call = self.call_at(heard.worker, frame.seq);
        let event = self.told_log(heard.worker, call, log);
        aftermath.emit(event);
        self.note_heard(heard, frame.seq, aftermath);
        Ok(())
    }

    /// A worker ended a call. An answer to a call that is settled frees its slots and is dropped.
    pub(super) fn answered(
        &mut self,
        worker: WorkerId,
        seq: u64,
        outcome: Outcome,
        now: Timestamp,
        aftermath: &mut Aftermath,
    ) {
        let Some(member) = self.crew.get_mut(&worker) else { return };
        let Some(InFlight { call, .. }) = member.in_flight.remove(&seq) else { return };
        member.asked.remove(&call);
        member.ahead.answered(seq);
        if let Some(pending) = self.calls.get(&call) {
            member.past.answered(Arc::clone(&pending.call.function));
        }
        self.answer = Some((call, outcome));
        self.tell(now, News::Answered { worker, call }, aftermath);
        self.answer = None;
    }

    pub(super) fn require_ready(&self, worker: WorkerId, kind: Kind) -> Result<(), Violation> {
        match self.crew.get(&worker).map(|member| &member.handshake) {
            Some(Handshake::Ready(..)) => Ok(()),
            Some(Handshake::Silent | Handshake::Welcomed) | None => Err(format!("{kind} before READY")),
        }
    }

    /// An answer: of a ready worker, and not about a call whose turn has not come.
    fn require_running(&self, worker: WorkerId, frame: &Frame) -> Result<(), Violation> {
        self.require_ready(worker, frame.kind)?;
        let flight = self.crew.get(&worker).and_then(|member| member.in_flight.get(&frame.seq));
        if flight.is_some_and(|flight| flight.lies) {
            return Err(format!("{} for seq {} before its turn (R62)", frame.kind, frame.seq));
        }
        Ok(())
    }

    pub(super) fn call_at(&self, worker: WorkerId, seq: u64) -> Option<CallId> {
        Some(self.crew.get(&worker)?.in_flight.get(&seq)?.call)
    }
}

fn milliseconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
