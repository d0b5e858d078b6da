//! The reducer: the one place that knows all parts. What it does for calls, for workers and at the end of the pool stands
//! in the files below it.

mod calls;
mod closing;
mod dispatch;
mod workers;

use std::collections::{BTreeMap, VecDeque};

use crate::action::{Action, CancelReason};
use crate::backoff::StartBackoff;
use crate::call::{Call, CallState, CallView};
use crate::config::Config;
use crate::event::Event;
use crate::id::{CallId, WorkerId};
use crate::input::Input;
use crate::phase::PoolPhase;
use crate::placement::Placement;
use crate::queue::Queue;
use crate::roster::Roster;
use crate::stats::{Counters, Stats, WorkerView};
use crate::time::Timestamp;
use crate::timers::{TimerKey, Timers};
use crate::worker::{Phase, Worker};

/// The decisions of one pool. See the crate's page for the contract.
#[derive(Debug)]
pub struct Scheduler {
    config: Config,
    now: Timestamp,
    phase: PoolPhase,
    calls: BTreeMap<CallId, Call>,
    queue: Queue,
    /// A call was refused since the queue was last empty.
    queue_was_full: bool,
    roster: Roster,
    placement: Placement<WorkerId>,
    /// Workers wanted. Rises with demand; a death leaves it as it is.
    target: u32,
    backoff: StartBackoff,
    timers: Timers,
    counters: Counters,
    actions: VecDeque<Action>,
}

impl Scheduler {
    /// A pool with no workers and no calls.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: Timestamp::ZERO,
            phase: PoolPhase::Running,
            calls: BTreeMap::new(),
            queue: Queue::default(),
            queue_was_full: false,
            roster: Roster::default(),
            placement: Placement::default(),
            target: 0,
            backoff: StartBackoff::default(),
            timers: Timers::default(),
            counters: Counters::default(),
            actions: VecDeque::new(),
        }
    }

    /// Takes one input at the moment `now`, which must not lie before an earlier one. Clocks due by then do not fire here.
    pub fn handle(&mut self, now: Timestamp, input: Input) {
        self.now = self.now.max(now);
        match input {
            Input::Submit { call, spec } => self.submit(call, spec),
            Input::Cancel { call } => self.cancel(call),
            Input::Close { timeout } => self.close(timeout),
            Input::Terminate => self.terminate(),
            Input::Attach { attachment } => self.attach(attachment),
            Input::Ready { worker } => self.worker_ready(worker),
            Input::Heard { worker, call } => self.heard(worker, call),
            Input::Answered { worker, call } => self.answered(worker, call),
            Input::Violated { worker } => self.violated(worker),
            Input::Exited { worker, exit, unwritten } => self.worker_exited(worker, exit, &unwritten),
        }
        self.settle_down();
    }

    /// Fires every clock that is due at `now`. Afterwards [`Self::poll_timeout`] lies ahead of it.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        while let Some(key) = self.timers.take_due(self.now) {
            self.fire(key);
            self.settle_down();
        }
    }

    /// The next thing to do, in order; none when all is said.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Self::handle_timeout`] should be called at the latest; none: whenever the next input comes.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Where the pool is in its life.
    pub fn phase(&self) -> PoolPhase {
        self.phase
    }

    /// A picture of the pool at `now`.
    pub fn stats(&self, now: Timestamp) -> Stats {
        Stats {
            counters: self.counters,
            queued: self.queue.len(),
            queued_bytes: self.queue.bytes(),
            workers: self.roster.iter().map(|worker| view(worker, now)).collect(),
        }
    }

    /// The calls that run or wait, oldest first.
    pub fn calls(&self, now: Timestamp) -> impl Iterator<Item = CallView> + '_ {
        self.calls.iter().map(move |(&id, call)| CallView {
            call: id,
            age: now.since(call.submitted_at),
            worker: match call.state {
                CallState::Waiting => None,
                CallState::Running { worker, .. } => Some(worker),
            },
            attempts: call.attempts,
        })
    }

    fn fire(&mut self, key: TimerKey) {
        match key {
            TimerKey::QueueTimeout(call) => self.queue_timeout(call),
            TimerKey::Timeout(call) => self.attempt_timeout(call),
            TimerKey::Deadline(call) => self.deadline(call),
            TimerKey::CancelGrace(worker, call) => self.grace_over(worker, call),
            TimerKey::WorkerStart(worker) => self.start_timeout(worker),
            TimerKey::WorkerStop(worker) => self.stop_timeout(worker),
            // Nothing to do but to look again at what should be started.
            TimerKey::StartBackoff => {}
            TimerKey::Close => self.close_timeout(),
        }
    }

    /// What follows from any change: calls go to workers, workers start, a draining pool ends.
    fn settle_down(&mut self) {
        self.dispatch();
        self.start_workers();
        self.fail_hopeless_calls();
        if self.queue_was_full && self.queue.is_empty() {
            self.queue_was_full = false;
            self.emit(Event::QueueDrain);
        }
        // Last, as nothing may follow the end.
        self.go_on_closing();
    }

    fn emit(&mut self, event: Event) {
        self.actions.push_back(Action::Emit(event));
    }

    fn ask_to_stop(&mut self, worker: WorkerId, call: CallId, reason: CancelReason) {
        self.actions.push_back(Action::Cancel { worker, call, reason });
    }
}

fn view(worker: &Worker, now: Timestamp) -> WorkerView {
    WorkerView {
        worker: worker.id,
        ready: worker.is_ready(),
        starting: worker.phase == Phase::Starting,
        running: worker.running.len() + worker.asked.len(),
        answered: worker.answered,
        age: now.since(worker.born_at),
    }
}
