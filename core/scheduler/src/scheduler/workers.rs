//! What happens to a worker: attachment, readiness, its clocks, its death and what that means for its calls.

use std::collections::BTreeSet;

use super::Scheduler;
use super::calls::place;
use crate::action::{Action, KillCause};
use crate::backoff::{BadStart, EARLY_DEATH};
use crate::call::CallState;
use crate::event::{Event, ExitReason};
use crate::failure::{DeathCause, Failure};
use crate::id::{CallId, WorkerId};
use crate::input::Exit;
use crate::phase::PoolPhase;
use crate::retry::{AfterLoss, after_loss};
use crate::timers::TimerKey;
use crate::worker::{Leaving, Origin, Phase, Worker};

impl Scheduler {
    pub(super) fn attach(&mut self, attachment: u64) {
        if !self.phase.accepts_calls() {
            self.actions.push_back(Action::Refuse { attachment });
            return;
        }
        let worker = self.roster.seat(Origin::Attached, &self.config, self.now);
        self.timers.set(TimerKey::WorkerStart(worker), self.now.after(self.config.start_timeout));
        self.actions.push_back(Action::Admit { attachment, worker });
        self.emit(Event::WorkerStart { worker });
    }

    pub(super) fn worker_ready(&mut self, id: WorkerId) {
        let Some(Worker { phase: Phase::Starting, born_at, .. }) = self.roster.worker(id) else { return };
        let started_in = self.now.since(*born_at);
        self.timers.clear(TimerKey::WorkerStart(id));
        self.roster.move_to(id, Phase::Ready { since: self.now });
        self.placement.open(id, self.config.concurrency, 0);
        self.emit(Event::WorkerReady { worker: id, started_in });
        self.begin_service(id);
    }

    /// A worker that was asked to stop a call has none such left: it takes calls again.
    pub(super) fn serve_again(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker(id) else { return };
        if worker.is_ready() && worker.asked.is_empty() {
            self.placement.reopen(id);
        }
    }

    pub(super) fn start_timeout(&mut self, id: WorkerId) {
        self.kill(id, KillCause::StartTimeout);
    }

    pub(super) fn stop_timeout(&mut self, id: WorkerId) {
        self.kill(id, KillCause::Close);
    }

    pub(super) fn grace_over(&mut self, id: WorkerId, culprit: CallId) {
        self.kill(id, KillCause::CancelKill { culprit });
    }

    pub(super) fn violated(&mut self, id: WorkerId) {
        self.kill(id, KillCause::Protocol);
    }

    pub(super) fn kill(&mut self, id: WorkerId, cause: KillCause) {
        let Some(worker) = self.roster.worker(id) else { return };
        let ready_since = match worker.phase {
            Phase::Killed { .. } => return,
            Phase::Starting | Phase::Ready { .. } | Phase::Retiring { .. } | Phase::Stopping { .. } => {
                worker.ready_since()
            }
        };
        let leaving = match worker.phase {
            Phase::Retiring { cold, .. } => Some(Leaving::Recycled { cold }),
            Phase::Starting | Phase::Ready { .. } | Phase::Stopping { .. } | Phase::Killed { .. } => {
                worker.leaving()
            }
        };
        self.vacate(id);
        self.roster.move_to(id, Phase::Killed { cause, ready_since, leaving });
        self.placement.shut(id);
        self.list(id);
        self.timers.clear(TimerKey::WorkerStart(id));
        self.timers.clear(TimerKey::WorkerStop(id));
        self.clear_worker_clocks(id);
        self.actions.push_back(Action::Kill { worker: id, cause });
    }

    pub(super) fn stop(&mut self, id: WorkerId, why: Leaving) {
        let timeout = self.config.stop_timeout;
        self.roster.move_to(id, Phase::Stopping { why });
        self.placement.shut(id);
        self.clear_worker_clocks(id);
        self.timers.set(TimerKey::WorkerStop(id), self.now.after(timeout));
        self.actions.push_back(Action::Stop { worker: id, timeout });
    }

    /// The one way out of every worker, whatever ended it and in whatever phase.
    pub(super) fn worker_exited(&mut self, id: WorkerId, exit: Exit, unwritten: &[CallId]) {
        self.vacate(id);
        let Some(mut worker) = self.roster.remove(id) else { return };
        self.placement.remove(id);
        self.clear_all_clocks(&worker);
        let claimed = self.bury_line(&mut worker, unwritten);
        let cause = worker.death_cause(exit);
        let reason = self.reason(&worker, cause);
        let mut had = worker.running.keys().chain(&claimed);
        let had_calls = !worker.asked.is_empty() || had.any(|call| !unwritten.contains(call));
        self.emit(Event::WorkerExit {
            worker: id,
            exit,
            running: worker.running.len() + worker.asked.len() + claimed.len(),
            calls: worker.answered,
            reason,
            cause,
        });
        self.count_death(&worker, reason, exit, had_calls);
        // In order of submission, so that those that come back stand in it.
        for &call in worker.running.keys() {
            if unwritten.contains(&call) {
                self.hand_back(call, cause);
            } else {
                self.lose(call, id, cause);
            }
        }
        for call in claimed {
            self.lose(call, id, cause);
        }
        self.lose_pinned(worker.pinned, id, cause);
    }

    fn clear_all_clocks(&mut self, worker: &Worker) {
        self.timers.clear(TimerKey::WorkerStart(worker.id));
        self.timers.clear(TimerKey::WorkerStop(worker.id));
        self.clear_worker_clocks(worker.id);
        for &call in worker.asked.keys() {
            self.timers.clear(TimerKey::CancelGrace(worker.id, call));
        }
    }

    /// Calls that only the dead worker could have run.
    fn lose_pinned(&mut self, calls: BTreeSet<CallId>, id: WorkerId, cause: DeathCause) {
        self.pinned_to.remove(&id);
        for call in calls {
            let pinned = self.calls.remove(&call).expect("a waiting call is known");
            self.settle(call, &pinned, Failure::WorkerDied { worker: id, cause });
        }
    }

    /// The call never left the host: it waits again, first of its priority.
    fn hand_back(&mut self, id: CallId, cause: DeathCause) {
        self.timers.clear(TimerKey::Timeout(id));
        let call = self.calls.get_mut(&id).expect("a running call is known");
        call.undo_begin();
        if let (0, Some(span)) = (call.attempts, call.spec.queue_timeout) {
            self.timers.set(TimerKey::QueueTimeout(id), call.submitted_at.after(span));
        }
        let (place, slots, pinned) = (place(call), call.spec.slots, call.spec.pinned);
        if let Some(worker) = pinned {
            let call = self.calls.remove(&id).expect("it was there a line ago");
            return self.settle(id, &call, Failure::WorkerDied { worker, cause });
        }
        self.queue.push_returned(id, place, slots);
    }

    /// The call's worker died with it.
    fn lose(&mut self, id: CallId, worker: WorkerId, cause: DeathCause) {
        self.timers.clear(TimerKey::Timeout(id));
        let accepts_calls = self.phase.accepts_calls();
        let call = self.calls.get_mut(&id).expect("a running call is known");
        debug_assert!(matches!(call.state, CallState::Running { worker: at, .. } if at == worker));
        match after_loss(call, accepts_calls) {
            AfterLoss::RunAgain => {
                call.lose_attempt(worker);
                let (attempt, spec) = (call.attempts, call.spec.clone());
                self.queue.push_returned(id, place(call), spec.slots);
                self.counters.retried += 1;
                self.emit(Event::CallRetry { call: id, attempt, retries: spec.retries, worker });
            }
            AfterLoss::Fail => {
                let call = self.calls.remove(&id).expect("it was there a line ago");
                self.settle(id, &call, Failure::WorkerDied { worker, cause });
            }
        }
    }

    fn reason(&self, worker: &Worker, cause: DeathCause) -> ExitReason {
        let was_ready = worker.ready_since().is_some();
        // An end that was asked for is no crash, however it came.
        match worker.leaving() {
            Some(Leaving::Close | Leaving::Idle) => return ExitReason::Shutdown,
            Some(Leaving::Recycled { .. }) if worker.running.is_empty() => return ExitReason::Recycled,
            Some(Leaving::Recycled { .. }) | None => {}
        }
        match cause {
            DeathCause::Close | DeathCause::Idle => ExitReason::Shutdown,
            DeathCause::Recycled => ExitReason::Recycled,
            DeathCause::Unresponsive => ExitReason::Unresponsive,
            DeathCause::Detached if worker.has_nothing() => ExitReason::Shutdown,
            DeathCause::StartTimeout | DeathCause::NotStarted => ExitReason::StartFailed,
            DeathCause::Exit
            | DeathCause::Signal
            | DeathCause::CancelKill { .. }
            | DeathCause::Protocol
            | DeathCause::Detached => {
                if was_ready {
                    ExitReason::Crash
                } else {
                    ExitReason::StartFailed
                }
            }
        }
    }

    /// Failed starts, and deaths that come too soon to tell them apart, put the next start off.
    fn count_death(&mut self, worker: &Worker, reason: ExitReason, exit: Exit, had_calls: bool) {
        match reason {
            ExitReason::Crash => self.counters.crashed += 1,
            ExitReason::StartFailed => self.counters.start_failed += 1,
            ExitReason::Recycled | ExitReason::Shutdown | ExitReason::Unresponsive => {}
        }
        let bad_start = self.bad_start(worker, reason, exit, had_calls);
        // The worker it was to replace serves on; only the next replacement is put off.
        if worker.replaces.is_some_and(|old| self.replacement_failed(worker.id, old, bad_start)) {
            return;
        }
        if worker.origin == Origin::Attached || self.phase >= PoolPhase::Ending {
            return;
        }
        if let Some(kind) = bad_start {
            let at = self.backoff.fail(self.now, kind);
            self.timers.set(TimerKey::StartBackoff, at);
        }
    }

    /// `had_calls`: some call had reached it, so that its death may be that call's doing.
    fn bad_start(
        &self,
        worker: &Worker,
        reason: ExitReason,
        exit: Exit,
        had_calls: bool,
    ) -> Option<BadStart> {
        let early = worker.answered == 0
            && worker.ready_since().is_none_or(|since| self.now.since(since) < EARLY_DEATH);
        let ours = matches!(worker.phase, Phase::Killed { .. });
        let for_a_call = matches!(worker.phase, Phase::Killed { cause: KillCause::CancelKill { .. }, .. });
        match reason {
            ExitReason::Crash | ExitReason::StartFailed
                if !ours && early && exit == Exit::Signal(SIGKILL) =>
            {
                Some(BadStart::KilledFromOutside { at_work: had_calls })
            }
            ExitReason::StartFailed => Some(BadStart::Failed),
            // Killed for a call that would not stop: the worker had started well, its replacement is wanted at once.
            ExitReason::Crash if for_a_call || !early => None,
            ExitReason::Crash if had_calls => Some(BadStart::DiedAtWork),
            ExitReason::Crash => Some(BadStart::Failed),
            ExitReason::Recycled | ExitReason::Shutdown | ExitReason::Unresponsive => None,
        }
    }
}

/// The same number on every Unix.
const SIGKILL: i32 = 9;
