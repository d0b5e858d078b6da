//! Carries out what the scheduler asks for, as far as that is a change of the books. The rest goes to the aftermath.

use std::sync::Arc;
use std::time::Duration;

use ganger_protocol::message::{Cancel, CancelReason as WireReason, InBatch, Stop};
use ganger_protocol::{Frame, Kind, Lane};
use ganger_scheduler::{Action, CallId, CancelReason, HandedTogether, KillCause, Timestamp, WorkerId};

use super::Aftermath;
use super::books::{Books, Closed, Member, Process};
use super::in_flight::InFlight;
use crate::sampler::OomKills;
use crate::stream::Route;

/// What a worker is given: one try of a call.
pub(super) struct Attempt {
    pub(super) call: CallId,
    pub(super) attempt: u32,
    pub(super) remaining: Option<Duration>,
}

impl Books {
    pub(super) fn carry_out(&mut self, now: Timestamp, aftermath: &mut Aftermath) {
        while let Some(action) = self.scheduler.poll_action() {
            match action {
                Action::Spawn { worker, replaces } => {
                    let member = self.recruit(replaces, now);
                    self.crew.insert(worker, member);
                    aftermath.spawn(worker);
                }
                Action::Admit { attachment, worker } => self.admit(attachment, worker, now, aftermath),
                Action::Refuse { attachment } => drop(self.attachments.remove(&attachment)),
                Action::Assign { worker, call, attempt, remaining, batch } => {
                    let attempt = Attempt { call, attempt, remaining };
                    self.assign(worker, &attempt, batch, now, aftermath);
                }
                Action::HandAhead { worker, call, attempt, remaining } => {
                    self.hand_ahead(worker, &Attempt { call, attempt, remaining }, aftermath);
                }
                Action::TakeUp { worker, call } => self.take_up(worker, call, now),
                Action::TakeBack { worker, most } => self.take_back(worker, most, now),
                Action::Cancel { worker, call, reason } => self.ask_to_stop(worker, call, reason, aftermath),
                Action::Ping { worker } => self.ping(worker, aftermath),
                Action::Admitted { call } => self.tell_admitted(call, aftermath),
                Action::Stop { worker, timeout } => self.stop(worker, timeout, aftermath),
                Action::Kill { worker, cause } => self.kill(worker, cause, aftermath),
                Action::Settle { call, settlement } => self.settle(call, settlement, now, aftermath),
                Action::Emit(event) => {
                    if let Some(event) = self.told(event) {
                        aftermath.emit(event);
                    }
                }
                Action::Closed => self.tell_closed(aftermath),
            }
        }
    }

    fn recruit(&self, predecessor: Option<WorkerId>, now: Timestamp) -> Member {
        Member {
            device: self.device_for_successor_of(predecessor),
            memory_limit: self.memory_limit,
            oom_kills_at_birth: OomKills::now(),
            ..Member::new(Process::Coming { killed: false }, now)
        }
    }

    fn assign(
        &mut self,
        worker: WorkerId,
        attempt: &Attempt,
        batch: Option<HandedTogether>,
        now: Timestamp,
        aftermath: &mut Aftermath,
    ) {
        let id = attempt.call;
        let wants_inputs = self.reads_inputs(id);
        let (Some(member), Some(call)) = (self.crew.get_mut(&worker), self.calls.get_mut(&id)) else {
            return;
        };
        let Some(link) = member.link().cloned() else { return };
        call.assigned_at = Some(now);
        let seq = member.next_seq();
        member.in_flight.insert(seq, InFlight::new(id));
        // All of a batch are written in this step, so that their numbers follow one another.
        let together =
            batch.map(|HandedTogether { nth, count }| InBatch { first: seq - u64::from(nth), count });
        let body = attempt.body(&call.call, together);
        let frame = Frame::new(Kind::Call, seq).with_body(body.encode());
        let frame = member.loans.carry(frame, &call.call.input);
        match batch {
            Some(_) => link.push_in_batch(frame),
            None => link.push(Lane::Data, frame),
        }
        let route = || Route { link: Arc::downgrade(&link), seq, lender: member.loans.lender() };
        call.streams.begin(route);
        if wants_inputs && call.streams.supply.is_none() {
            link.push(Lane::Data, Frame::new(Kind::InputEnd, seq));
        }
        aftermath.flush(link);
    }

    /// Whether the function waits for the end of an input stream. One that no contract names might.
    fn reads_inputs(&self, call: CallId) -> bool {
        let function = self.calls.get(&call).map(|pending| &pending.call.function);
        let contract = function.and_then(|function| self.contract(function));
        contract.is_none_or(|contract| contract.inputs.is_some())
    }

    fn ask_to_stop(
        &mut self,
        worker: WorkerId,
        call: CallId,
        reason: CancelReason,
        aftermath: &mut Aftermath,
    ) {
        let Some(member) = self.crew.get_mut(&worker) else { return };
        if let Some(pending) = self.calls.get(&call) {
            member.asked.insert(call, Arc::clone(&pending.call.function));
        }
        let (Some(seq), Some(link)) = (member.seq_of(call), member.link()) else { return };
        let reason = match reason {
            CancelReason::Cancel => WireReason::Cancel,
            CancelReason::Timeout => WireReason::Timeout,
            CancelReason::Deadline => WireReason::Deadline,
        };
        link.push(Lane::Control, Frame::new(Kind::Cancel, seq).with_body(Cancel { reason }.encode()));
        aftermath.flush(Arc::clone(link));
    }

    fn stop(&mut self, worker: WorkerId, timeout: Duration, aftermath: &mut Aftermath) {
        let Some(link) = self.crew.get(&worker).and_then(Member::link) else { return };
        let body = Stop { reason: "close".to_owned(), timeout_ms: milliseconds(timeout) };
        link.push(Lane::Data, Frame::new(Kind::Stop, 0).with_body(body.encode()));
        aftermath.flush(Arc::clone(link));
    }

    fn ping(&mut self, worker: WorkerId, aftermath: &mut Aftermath) {
        let Some(member) = self.crew.get_mut(&worker) else { return };
        member.last_seq += 1;
        let frame = Frame::new(Kind::Ping, member.last_seq);
        if let Some(link) = member.link().cloned() {
            link.push(Lane::Data, frame);
            aftermath.flush(link);
        }
    }

    fn kill(&mut self, worker: WorkerId, cause: KillCause, aftermath: &mut Aftermath) {
        tracing::debug!(pool = %self.pool, %worker, ?cause, "killing a worker");
        let Some(member) = self.crew.get_mut(&worker) else { return };
        member.too_slow = cause == KillCause::StartTimeout;
        match &mut member.process {
            Process::Coming { killed } => *killed = true,
            Process::Own { process, .. } => aftermath.kill(Arc::clone(process)),
            // It is not ours to kill: with its lanes gone it ends by itself.
            Process::Attached { leave, .. } => leave.notify_one(),
        }
    }

    fn admit(&mut self, attachment: u64, worker: WorkerId, now: Timestamp, aftermath: &mut Aftermath) {
        if let Some(lanes) = self.attachments.remove(&attachment) {
            self.crew.insert(worker, Member::new(Process::Coming { killed: false }, now));
            aftermath.take_in(worker, lanes);
        }
    }

    fn tell_admitted(&mut self, call: CallId, aftermath: &mut Aftermath) {
        if let Some(admitted) = self.calls.get_mut(&call).and_then(|call| call.admitted.take()) {
            aftermath.run(admitted);
        }
    }

    fn tell_closed(&mut self, aftermath: &mut Aftermath) {
        if let Closed::NotYet(waiting) = std::mem::replace(&mut self.closed, Closed::Yes) {
            aftermath.announce_end(waiting);
        }
    }
}

pub(super) fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
