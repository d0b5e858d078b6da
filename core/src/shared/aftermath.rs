//! What a step leaves to do once the lock is free.

use std::sync::Arc;

use ganger_scheduler::WorkerId;

use super::Shared;
use crate::call::{Completion, Outcome, Progress, ProgressObserver, Waiter};
use crate::crew::{self, Lanes};
use crate::error::Error;
use crate::events::{Event, Observers};
use crate::link::Link;
use crate::process::WorkerProcess;
use crate::stream::Wake;

/// Collected under the lock, done without it.
#[derive(Default)]
pub(crate) struct Aftermath {
    links: Vec<Arc<Link>>,
    spawns: Vec<WorkerId>,
    attachments: Vec<(WorkerId, Lanes)>,
    kills: Vec<Arc<WorkerProcess>>,
    /// Who waits for items or credit.
    woken: Vec<Wake>,
    progress: Vec<(ProgressObserver, Progress)>,
    settled: Vec<(Completion, Outcome)>,
    events: Vec<Event>,
    ended: Vec<Box<dyn FnOnce() + Send>>,
    told: Vec<(Waiter, Result<(), Box<Error>>)>,
    /// The pool has ended.
    over: bool,
}

impl Aftermath {
    pub(super) fn flush(&mut self, link: Arc<Link>) {
        if !self.links.iter().any(|known| Arc::ptr_eq(known, &link)) {
            self.links.push(link);
        }
    }

    pub(super) fn spawn(&mut self, worker: WorkerId) {
        self.spawns.push(worker);
    }

    pub(super) fn take_in(&mut self, worker: WorkerId, lanes: Lanes) {
        self.attachments.push((worker, lanes));
    }

    pub(super) fn kill(&mut self, process: Arc<WorkerProcess>) {
        self.kills.push(process);
    }

    pub(super) fn wake(&mut self, wake: Option<Wake>) {
        self.woken.extend(wake);
    }

    pub(super) fn tell_progress(&mut self, observer: ProgressObserver, progress: Progress) {
        self.progress.push((observer, progress));
    }

    pub(super) fn settle(&mut self, completion: Completion, outcome: Outcome) {
        self.settled.push((completion, outcome));
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(super) fn tell_waiter(&mut self, waiter: Waiter, verdict: Result<(), Box<Error>>) {
        self.told.push((waiter, verdict));
    }

    /// After the callers have been told; for whoever waits in an app.
    pub(super) fn run(&mut self, notice: Box<dyn FnOnce() + Send>) {
        self.ended.push(notice);
    }

    pub(super) fn announce_end(&mut self, waiting: Vec<Box<dyn FnOnce() + Send>>) {
        self.ended.extend(waiting);
        self.over = true;
    }

    /// Puts events in line for observers. Done under the lock, so that they are told in the order in which they happened, and
    /// before the callers they concern are told anything.
    pub(super) fn tell(&mut self, observers: &Observers) {
        for event in self.events.drain(..) {
            observers.emit(event);
        }
    }

    /// Writes first, because a worker waits for them; then callers, who wait too.
    pub(super) fn carry_out(self, shared: &Shared) {
        for link in self.links {
            shared.reactor.flush(link);
        }
        for wake in self.woken {
            wake();
        }
        for (observer, progress) in self.progress {
            observer.tell(&progress);
        }
        for (completion, outcome) in self.settled {
            completion(outcome);
        }
        for process in self.kills {
            process.kill_group();
        }
        for worker in self.spawns {
            crew::start(shared, worker);
        }
        for (worker, lanes) in self.attachments {
            crew::take_in(shared, worker, lanes);
        }
        for (waiter, verdict) in self.told {
            waiter(verdict);
        }
        if self.over {
            shared.leave_arena();
        }
        for announce in self.ended {
            announce();
        }
    }
}
