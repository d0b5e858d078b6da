//! Workers without calls: whether they live, and whether they are needed.
//!
//! The clocks are not moved with every call. They look when they strike: a worker that has had calls since is looked at again
//! when it may have been idle long enough.

use std::time::Duration;

use super::Scheduler;
use crate::action::{Action, KillCause};
use crate::event::Event;
use crate::id::WorkerId;
use crate::timers::TimerKey;
use crate::worker::{Leaving, Origin, Worker};

/// A worker that is busy is looked at again no sooner, however short the interval.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);

impl Scheduler {
    /// A worker has become ready: its clocks begin.
    pub(super) fn begin_service(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(worker) = self.roster.worker_mut(id) else { return };
        worker.idle_since = now;
        let (age, own) =
            (worker.limits.age.map(|age| worker.born_at.after(age)), worker.origin == Origin::Spawned);
        if let Some(interval) = self.config.health_interval {
            self.timers.set(TimerKey::Health(id), now.after(interval));
        }
        if !own {
            return;
        }
        if let Some(at) = age {
            self.timers.set(TimerKey::Age(id), at);
        }
        if let Some(timeout) = self.config.idle_timeout {
            self.timers.set(TimerKey::Idle(id), now.after(timeout));
        }
        self.replacement_ready(id);
    }

    /// A call of the worker has ended: it may have none left, and may have answered enough.
    pub(super) fn rest(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(worker) = self.roster.worker_mut(id) else { return };
        if worker.has_nothing() {
            worker.idle_since = now;
        }
        self.answered_enough(id);
        self.leave_if_retired(id);
    }

    pub(super) fn health_check(&mut self, id: WorkerId) {
        let (Some(interval), Some(worker)) = (self.config.health_interval, self.roster.worker(id)) else {
            return;
        };
        if !worker.is_ready() {
            return;
        }
        let due = worker.idle_since.after(interval);
        match (worker.has_nothing(), due > self.now) {
            (false, _) => self.timers.set(TimerKey::Health(id), self.now.after(interval.max(SHORTEST_LOOK))),
            (true, true) => self.timers.set(TimerKey::Health(id), due),
            (true, false) => self.ping(id),
        }
    }

    pub(super) fn pong(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(worker) = self.roster.worker_mut(id) else { return };
        worker.pinged_at = None;
        self.timers.clear(TimerKey::Ping(id));
        if let (true, Some(interval)) =
            (self.roster.worker(id).is_some_and(Worker::is_ready), self.config.health_interval)
        {
            self.timers.set(TimerKey::Health(id), now.after(interval));
        }
    }

    /// A worker that got a call meanwhile is busy, and a busy one is protected by its call's clocks.
    pub(super) fn ping_timeout(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker(id) else { return };
        if worker.pinged_at.is_none() {
            return self.health_check(id);
        }
        self.counters.unresponsive += 1;
        self.emit(Event::WorkerUnresponsive { worker: id, timeout: self.config.health_timeout });
        self.kill(id, KillCause::Unresponsive);
    }

    pub(super) fn idle_check(&mut self, id: WorkerId) {
        let (Some(timeout), Some(worker)) = (self.config.idle_timeout, self.roster.worker(id)) else {
            return;
        };
        if !worker.is_ready() {
            return;
        }
        let due = worker.idle_since.after(timeout);
        // One that is about to be replaced is not retired for having nothing to do.
        let needed = !worker.has_nothing() || worker.recycle.is_some();
        if needed || due > self.now || self.lasting_workers() <= self.config.min_workers.max(self.warming) {
            let later = self.now.after(timeout.max(SHORTEST_LOOK));
            let next = if needed || due <= self.now { later } else { due };
            self.timers.set(TimerKey::Idle(id), next);
            return;
        }
        self.target = self.target.saturating_sub(1).max(self.config.min_workers);
        self.stop(id, Leaving::Idle);
    }

    /// Workers without calls are idle from now on, whatever they waited for before.
    pub(super) fn begin_idling(&mut self) {
        let Some(timeout) = self.config.idle_timeout else { return };
        let idles =
            |worker: &&Worker| worker.is_ready() && worker.has_nothing() && worker.origin == Origin::Spawned;
        for worker in self.roster.iter().filter(idles) {
            self.timers.set(TimerKey::Idle(worker.id), self.now.after(timeout));
        }
    }

    pub(super) fn clear_worker_clocks(&mut self, id: WorkerId) {
        for key in [TimerKey::Health(id), TimerKey::Ping(id), TimerKey::Idle(id), TimerKey::Age(id)] {
            self.timers.clear(key);
        }
    }

    fn ping(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(worker) = self.roster.worker_mut(id) else { return };
        worker.pinged_at = Some(now);
        self.timers.set(TimerKey::Ping(id), now.after(self.config.health_timeout));
        self.actions.push_back(Action::Ping { worker: id });
    }
}
