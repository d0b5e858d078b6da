//! What happens to a call: submission, the three clocks, cancellation, its answer, its settlement.

use std::time::Duration;

use super::Scheduler;
use crate::action::{Action, CancelReason, Settlement};
use crate::call::{Call, CallSpec, CallState, Declaration};
use crate::config::{Config, WhenFull};
use crate::event::Event;
use crate::failure::{DeathCause, Failure};
use crate::id::{CallId, WorkerId};
use crate::line::QUICK;
use crate::phase::PoolPhase;
use crate::queue::{Newcomer, Place};
use crate::timers::TimerKey;
use crate::worker::{Phase, Worker};

impl Scheduler {
    pub(super) fn submit(&mut self, id: CallId, spec: CallSpec) {
        self.counters.submitted += 1;
        let slots = if spec.exclusive { self.config.concurrency } else { spec.slots };
        let mut call = Call::new(CallSpec { slots, ..spec }, self.now);
        match self.admit(&call) {
            Ok(Admission::Pinned(worker)) => self.pin(id, worker),
            Ok(Admission::Queue) => self.enqueue(id, &call),
            Ok(Admission::Lobby(timeout)) => {
                call.state = CallState::InLobby;
                self.lobby.enter(id);
                if let Some(span) = timeout {
                    self.timers.set(TimerKey::FullTimeout(id), self.now.after(span));
                }
            }
            Err(failure) => return self.settle(id, &call, failure),
        }
        if let Some(span) = call.spec.queue_timeout {
            self.timers.set(TimerKey::QueueTimeout(id), self.now.after(span));
        }
        if let Some(span) = call.spec.deadline {
            self.timers.set(TimerKey::Deadline(id), self.now.after(span));
        }
        self.calls.insert(id, Box::new(call));
    }

    /// The function of a call has said what it is like, after the call was made. An attempt that runs keeps its slots and its
    /// clock; all else holds.
    pub(super) fn declare(&mut self, id: CallId, declaration: Declaration) {
        let Some(mut call) = self.calls.remove(&id) else { return };
        // A call that wants to be alone stays so whatever its function says.
        call.spec.exclusive |= declaration.exclusive;
        let slots = if call.spec.exclusive { Some(self.config.concurrency) } else { declaration.slots };
        call.spec.idempotent = declaration.idempotent;
        call.spec.timeout = declaration.timeout.or(call.spec.timeout);
        call.spec.batch = declaration.batch.map(Box::new);
        let slots = slots.unwrap_or(call.spec.slots);
        let fits = slots <= self.config.concurrency;
        match call.state {
            CallState::Waiting | CallState::InLobby if !fits => {
                self.lobby.leave(id);
                self.take_out(id, call.spec.pinned);
                let failure = Failure::TooManySlots { slots, concurrency: self.config.concurrency };
                return self.settle(id, &call, failure);
            }
            CallState::Waiting | CallState::InLobby => {
                call.spec.slots = slots;
                self.queue.revise(id, place(&call), slots);
            }
            // For the next attempt, if there is one. Where this one fitted another will.
            CallState::Lying { .. } | CallState::Running { .. } if fits => call.spec.slots = slots,
            CallState::Lying { .. } | CallState::Running { .. } => {}
        }
        self.calls.insert(id, call);
    }

    /// Calls that found the queue full get in as there is room, in the order of submission.
    pub(super) fn admit_from_lobby(&mut self) {
        while let Some(id) = self.lobby.first() {
            let call = self.calls.get_mut(&id).expect("a call in the lobby is known");
            let newcomer = Newcomer { slots: call.spec.slots, bytes: call.spec.bytes };
            if !self.phase.accepts_calls() && self.phase != PoolPhase::Draining {
                return;
            }
            let Config { max_queue, max_queue_bytes, .. } = self.config;
            if !self.queue.admits(newcomer, self.room_to_come(), max_queue, max_queue_bytes) {
                return;
            }
            self.lobby.leave(id);
            self.timers.clear(TimerKey::FullTimeout(id));
            let mut call = self.calls.remove(&id).expect("it was there a line ago");
            call.state = CallState::Waiting;
            self.enqueue(id, &call);
            self.calls.insert(id, call);
            self.actions.push_back(Action::Admitted { call: id });
            self.dispatch();
        }
    }

    fn enqueue(&mut self, id: CallId, call: &Call) {
        self.queue.push_fresh(id, place(call), call.spec.slots, call.spec.bytes);
    }

    fn pin(&mut self, id: CallId, worker: WorkerId) {
        let holder = self.roster.worker_mut(worker).expect("admission has looked");
        holder.pinned.insert(id);
        self.pinned_to.insert(worker);
        // It goes before what lies there.
        self.take_all_back(worker);
        self.list(worker);
    }

    pub(super) fn cancel(&mut self, id: CallId) {
        self.give_up(id, Failure::Cancelled, CancelReason::Cancel);
    }

    pub(super) fn full_timeout(&mut self, id: CallId) {
        let failure = self.queue_full();
        self.give_up(id, failure, CancelReason::Timeout);
    }

    pub(super) fn queue_timeout(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else { return };
        let waited = self.now.since(call.submitted_at);
        let failure = Failure::QueueTimeout { waited, waiting: self.queue.len(), running: self.running() };
        self.give_up(id, failure, CancelReason::Timeout);
    }

    pub(super) fn attempt_timeout(&mut self, id: CallId) {
        let Some(since) = self.calls.get(&id).and_then(|call| call.running_since()) else { return };
        let ran = self.now.since(since);
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
        if let Some(share) = holder.running.remove(&id) {
            holder.answered += 1;
            holder.line.answered(id);
            let slots = holder.give_back(share);
            let call = self.calls.remove(&id).expect("a running call is known");
            if let Some(since) = call.running_since() {
                holder.line.quick = self.now.since(since) < QUICK;
            }
            self.backoff.reset();
            self.timers.clear(TimerKey::StartBackoff);
            self.clear_clocks(id, &call.spec);
            self.counters.answered += 1;
            let settlement = Settlement::Answered { attempts: call.attempts };
            self.actions.push_back(Action::Settle { call: id, settlement });
            self.go_on(worker, slots);
            // After the caller has its answer: the worker may leave now.
            self.rest(worker);
        } else if let Some(share) = holder.asked.remove(&id) {
            holder.answered += 1;
            holder.line.answered(id);
            let slots = holder.give_back(share);
            self.timers.clear(TimerKey::CancelGrace(worker, id));
            self.go_on(worker, slots);
            self.serve_again(worker);
            self.rest(worker);
        }
    }

    /// Settles a call whose caller waits no longer, and asks its worker to stop it.
    fn give_up(&mut self, id: CallId, failure: Failure, reason: CancelReason) {
        if let Some(&CallState::Lying { worker }) = self.calls.get(&id).map(|call| &call.state) {
            return self.give_up_lying(worker, id, failure, reason);
        }
        let Some(call) = self.calls.remove(&id) else { return };
        match call.state {
            CallState::InLobby => {
                self.lobby.leave(id);
            }
            CallState::Waiting => self.take_out(id, call.spec.pinned),
            CallState::Lying { .. } => unreachable!("it was looked for a line ago"),
            CallState::Running { worker, .. } => self.begin_grace(worker, id, &call, reason),
        }
        self.settle(id, &call, failure);
    }

    /// A waiting call stands in the queue, or at the worker that it is for.
    pub(super) fn take_out(&mut self, id: CallId, pinned: Option<WorkerId>) {
        if !self.queue.remove(id)
            && let Some(holder) = pinned.and_then(|worker| self.roster.worker_mut(worker))
        {
            holder.pinned.remove(&id);
            let worker = holder.id;
            self.rest(worker);
        }
    }

    /// The slots stay held until the worker answers or dies; until then it gets no new call.
    fn begin_grace(&mut self, worker: WorkerId, id: CallId, call: &Call, reason: CancelReason) {
        let holder = self.roster.worker_mut(worker).expect("a running call's worker is known");
        let share = holder.running.remove(&id).expect("a running call is at its worker");
        holder.asked.insert(id, share);
        match holder.phase {
            Phase::Starting | Phase::Ready { .. } | Phase::Retiring { .. } | Phase::Stopping { .. } => {
                self.placement.shut(worker);
                self.timers.set(TimerKey::CancelGrace(worker, id), self.now.after(call.spec.cancel_grace));
                self.ask_to_stop(worker, id, reason);
            }
            // It is on its way out: nobody is left to ask.
            Phase::Killed { .. } => {}
        }
        self.take_all_back(worker);
        self.list(worker);
    }

    /// Ends a call without an answer. The call is already out of every list.
    pub(super) fn settle(&mut self, id: CallId, call: &Call, failure: Failure) {
        self.clear_clocks(id, &call.spec);
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

    /// Where a new call waits. Waiting for room that workers have or will have costs no place in the queue, so a cold pool
    /// admits as much as a warm one.
    fn admit(&mut self, call: &Call) -> Result<Admission, Failure> {
        let CallSpec { slots, bytes, pinned, .. } = call.spec;
        if !self.phase.accepts_calls() {
            return Err(Failure::PoolClosed);
        }
        if slots > self.config.concurrency {
            return Err(Failure::TooManySlots { slots, concurrency: self.config.concurrency });
        }
        if let Some(worker) = pinned {
            let there = self.roster.worker(worker).is_some_and(Worker::is_ready);
            let gone = Failure::WorkerDied { worker, cause: DeathCause::Exit };
            return if there { Ok(Admission::Pinned(worker)) } else { Err(gone) };
        }
        if self.is_hopeless() && !self.backoff.allows(self.now) {
            return Err(Failure::StartFailed);
        }
        let Config { max_queue, max_queue_bytes, when_full, .. } = self.config;
        let newcomer = Newcomer { slots, bytes };
        if self.lobby.is_empty()
            && self.queue.admits(newcomer, self.room_to_come(), max_queue, max_queue_bytes)
        {
            return Ok(Admission::Queue);
        }
        if !self.queue_was_full {
            self.queue_was_full = true;
            let (waiting, bytes) = (self.queue.len(), self.queue.bytes());
            self.emit(Event::QueueFull { waiting, bytes });
        }
        match when_full {
            WhenFull::Reject => Err(self.queue_full()),
            WhenFull::Wait { timeout } => Ok(Admission::Lobby(timeout)),
        }
    }

    fn queue_full(&self) -> Failure {
        Failure::QueueFull { waiting: self.queue.len(), bytes: self.queue.bytes(), running: self.running() }
    }

    fn running(&self) -> usize {
        // Calls that wait for one worker are few and short-lived: they may count as running.
        self.calls.len() - self.queue.len() - self.lobby.len()
    }

    /// Those that were set: to look for one that was not costs as much.
    fn clear_clocks(&mut self, id: CallId, spec: &CallSpec) {
        let may_be_set = [
            (self.config.when_full != WhenFull::Reject, TimerKey::FullTimeout(id)),
            (spec.queue_timeout.is_some(), TimerKey::QueueTimeout(id)),
            (spec.timeout.is_some(), TimerKey::Timeout(id)),
            (spec.deadline.is_some(), TimerKey::Deadline(id)),
        ];
        for (_, key) in may_be_set.into_iter().filter(|(may_be_set, _)| *may_be_set) {
            self.timers.clear(key);
        }
    }
}

/// Where a new call waits.
enum Admission {
    Pinned(WorkerId),
    Queue,
    Lobby(Option<Duration>),
}

pub(super) fn place(call: &Call) -> Place {
    let together = call.batch().map(|batch| (batch.key, batch.max));
    Place { priority: call.spec.priority, submitted_at: call.submitted_at, together }
}
