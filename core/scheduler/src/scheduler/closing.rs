//! How a pool ends: drain, stop the workers, kill what stays.

use std::time::Duration;

use super::Scheduler;
use crate::action::{Action, KillCause};
use crate::failure::Failure;
use crate::id::CallId;
use crate::phase::PoolPhase;
use crate::timers::TimerKey;
use crate::worker::{Leaving, Phase};

impl Scheduler {
    pub(super) fn close(&mut self, timeout: Option<Duration>) {
        if self.phase > PoolPhase::Draining {
            return;
        }
        self.phase = PoolPhase::Draining;
        match timeout {
            Some(span) => self.timers.set(TimerKey::Close, self.now.after(span)),
            None => self.timers.clear(TimerKey::Close),
        }
    }

    /// What still runs for a caller is settled and all is killed; when only workers are left, those that were asked to stop
    /// a call lose the rest of its grace. Those that were asked to end keep their time for it.
    pub(super) fn close_timeout(&mut self) {
        if self.phase == PoolPhase::Draining {
            self.terminate();
            return;
        }
        for id in self.roster.ids() {
            if self.roster.worker(id).is_some_and(|worker| !worker.asked.is_empty()) {
                self.kill(id, KillCause::Close);
            }
        }
    }

    /// Settles every call first, so that none is told of a death that is ours, then kills every worker.
    pub(super) fn terminate(&mut self) {
        if self.phase == PoolPhase::Closed {
            return;
        }
        self.phase = PoolPhase::Ending;
        self.timers.clear(TimerKey::Close);
        self.timers.clear(TimerKey::StartBackoff);
        self.timers.clear(TimerKey::RecyclePause);
        let ids: Vec<CallId> = self.calls.keys().copied().collect();
        for id in ids {
            self.queue.remove(id);
            self.lobby.leave(id);
            let call = self.calls.remove(&id).expect("it was listed a line ago");
            self.settle(id, &call, Failure::PoolClosed);
        }
        for worker in self.roster.ids() {
            if let Some(holder) = self.roster.worker_mut(worker) {
                holder.running.clear();
                holder.pinned.clear();
                holder.line.drain();
            }
            self.kill(worker, KillCause::Close);
        }
    }

    /// A draining pool without calls stops its workers; one without workers is closed.
    pub(super) fn go_on_closing(&mut self) {
        if self.phase == PoolPhase::Draining && self.calls.is_empty() {
            self.phase = PoolPhase::Ending;
            self.timers.clear(TimerKey::StartBackoff);
            self.timers.clear(TimerKey::RecyclePause);
        }
        if self.phase != PoolPhase::Ending {
            return;
        }
        self.stop_idle_workers();
        if self.roster.is_empty() {
            self.phase = PoolPhase::Closed;
            self.timers.clear(TimerKey::Close);
            self.actions.push_back(Action::Closed);
        }
    }

    /// A worker that still runs a call which it was asked to stop keeps its grace; it is stopped when that is over.
    fn stop_idle_workers(&mut self) {
        for id in self.roster.ids() {
            let Some(worker) = self.roster.worker(id) else { continue };
            match worker.phase {
                Phase::Ready { .. } | Phase::Retiring { .. } if worker.has_nothing() => {
                    self.stop(id, Leaving::Close)
                }
                // It has run no hook and holds no call.
                Phase::Starting => self.kill(id, KillCause::Close),
                Phase::Ready { .. }
                | Phase::Retiring { .. }
                | Phase::Stopping { .. }
                | Phase::Killed { .. } => {}
            }
        }
    }
}
