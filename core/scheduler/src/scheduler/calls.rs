//! What happens to a call: submission, the three clocks, cancellation, its answer, its settlement.

use super::Scheduler;
use crate::action::{Action, CancelReason, Settlement};
use crate::call::{Call, CallSpec, CallState};
use crate::config::Config;
use crate::event::Event;
use crate::failure::Failure;
use crate::id::{CallId, WorkerId};
use crate::queue::Newcomer;
use crate::timers::TimerKey;
use crate::worker::Phase;

impl Scheduler {
    pub(super) fn submit(&mut self, id: CallId, spec: CallSpec) {
        self.counters.submitted += 1;
        let call = Call::new(spec, self.now);
        if let Err(failure) = self.admit(&call) {
            self.settle(id, call, failure);
            return;
        }
        let CallSpec { priority, slots, bytes, queue_timeout, deadline, .. } = call.spec;
        if let Some(span) = queue_timeout {
            self.timers.set(TimerKey::QueueTimeout(id), self.now.after(span));
        }
        if let Some(span) = deadline {
            self.timers.set(TimerKey::Deadline(id), self.now.after(span));
        }
        self.queue.push_fresh(id, priority, slots, bytes);
        self.calls.insert(id, call);
    }

    pub(super) fn cancel(&mut self, id: CallId) {
        self.give_up(id, Failure::Cancelled, CancelReason::Cancel);
    }

    pub(super) fn queue_timeout(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else { return };
        let waited = self.now.since(call.submitted_at);
        let failure = Failure::QueueTimeout { waited, waiting: self.queue.len(), running: self.running() };
        self.give_up(id, failure, CancelReason::Timeout);
    }

    pub(super) fn attempt_timeout(&mut self, id: CallId) {
        let Some(Call { state: CallState::Running { since, .. }, .. }) = self.calls.get(&id) else { return };
        let ran = self.now.since(*since);
        self.give_up(id, Failure::Timeout { ran }, CancelReason::Timeout);
    }

    pub(super) fn deadline(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else { return };
        let age = self.now.since(call.submitted_at);
        self.give_up(id, Failure::DeadlineExceeded { age }, CancelReason::Deadline);
    }

    pub(super) fn heard(&mut self, worker: WorkerId, id: CallId) {
        if let Some(call) = self.calls.get_mut(&id)
            && matches!(call.state, CallState::Running { worker: at, .. } if at == worker)
        {
            call.heard();
        }
    }

    /// The worker answered. If its caller is settled already, only the slots come back.
    pub(super) fn answered(&mut self, worker: WorkerId, id: CallId) {
        let Some(holder) = self.roster.worker_mut(worker) else { return };
        if let Some(slots) = holder.running.remove(&id) {
            holder.answered += 1;
            self.placement.give_back(worker, slots);
            self.backoff.reset();
            self.timers.clear(TimerKey::StartBackoff);
            let call = self.calls.remove(&id).expect("a running call is known");
            self.clear_clocks(id);
            self.counters.answered += 1;
            let settlement = Settlement::Answered { attempts: call.attempts };
            self.actions.push_back(Action::Settle { call: id, settlement });
        } else if let Some(slots) = holder.asked.remove(&id) {
            holder.answered += 1;
            self.placement.give_back(worker, slots);
            self.timers.clear(TimerKey::CancelGrace(worker, id));
            self.serve_again(worker);
        }
    }

    /// Settles a call whose caller waits no longer, and asks its worker to stop it.
    fn give_up(&mut self, id: CallId, failure: Failure, reason: CancelReason) {
        let Some(call) = self.calls.remove(&id) else { return };
        match call.state {
            CallState::Waiting => {
                self.queue.remove(id);
            }
            CallState::Running { worker, .. } => self.begin_grace(worker, id, &call, reason),
        }
        self.settle(id, call, failure);
    }

    /// The slots stay held until the worker answers or dies; until then it gets no new call.
    fn begin_grace(&mut self, worker: WorkerId, id: CallId, call: &Call, reason: CancelReason) {
        let holder = self.roster.worker_mut(worker).expect("a running call's worker is known");
        let slots = holder.running.remove(&id).expect("a running call is at its worker");
        holder.asked.insert(id, slots);
        match holder.phase {
            Phase::Starting | Phase::Ready { .. } | Phase::Stopping => {
                self.placement.shut(worker);
                self.timers.set(TimerKey::CancelGrace(worker, id), self.now.after(call.spec.cancel_grace));
                self.ask_to_stop(worker, id, reason);
            }
            // It is on its way out: nobody is left to ask.
            Phase::Killed { .. } => {}
        }
    }

    /// Ends a call without an answer. The call is already out of every list.
    pub(super) fn settle(&mut self, id: CallId, call: Call, failure: Failure) {
        self.clear_clocks(id);
        match failure {
            Failure::Cancelled => self.counters.cancelled += 1,
            Failure::QueueFull { .. }
            | Failure::QueueTimeout { .. }
            | Failure::Timeout { .. }
            | Failure::DeadlineExceeded { .. }
            | Failure::WorkerDied { .. }
            | Failure::StartFailed
            | Failure::PoolClosed
            | Failure::TooManySlots { .. } => self.counters.failed += 1,
        }
        let settlement = Settlement::Failed { failure, started: call.started(), attempts: call.attempts };
        self.actions.push_back(Action::Settle { call: id, settlement });
    }

    /// Whether a new call may wait. Waiting for room that workers have or will have costs no place in the queue, so a cold
    /// pool admits as much as a warm one.
    fn admit(&mut self, call: &Call) -> Result<(), Failure> {
        let CallSpec { slots, bytes, .. } = call.spec;
        if !self.phase.accepts_calls() {
            return Err(Failure::PoolClosed);
        }
        if slots > self.config.concurrency {
            return Err(Failure::TooManySlots { slots, concurrency: self.config.concurrency });
        }
        if self.is_hopeless() && !self.backoff.allows(self.now) {
            return Err(Failure::StartFailed);
        }
        let Config { max_queue, max_queue_bytes, .. } = self.config;
        if self.queue.admits(Newcomer { slots, bytes }, self.room_to_come(), max_queue, max_queue_bytes) {
            return Ok(());
        }
        let (waiting, bytes) = (self.queue.len(), self.queue.bytes());
        if !self.queue_was_full {
            self.queue_was_full = true;
            self.emit(Event::QueueFull { waiting, bytes });
        }
        Err(Failure::QueueFull { waiting, bytes, running: self.running() })
    }

    fn running(&self) -> usize {
        self.calls.len() - self.queue.len()
    }

    fn clear_clocks(&mut self, id: CallId) {
        self.timers.clear(TimerKey::QueueTimeout(id));
        self.timers.clear(TimerKey::Timeout(id));
        self.timers.clear(TimerKey::Deadline(id));
    }
}
