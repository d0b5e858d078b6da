//! The reducer: the one place that knows all parts. What it does for calls, for workers and at the end of the pool stands
//! in the files below it.

mod ahead;
mod batching;
mod calls;
mod closing;
mod dispatch;
mod health;
mod recycling;
mod replaying;
mod workers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::action::{Action, CancelReason};
use crate::affinity::Affinity;
use crate::backoff::StartBackoff;
use crate::call::{Call, CallState, CallView};
use crate::config::Config;
use crate::event::Event;
use crate::id::{CallId, WorkerId};
use crate::input::Input;
use crate::lobby::Lobby;
use crate::phase::PoolPhase;
use crate::placement::Placement;
use crate::queue::{Newcomer, Queue};
use crate::roster::Roster;
use crate::stats::{Counters, Stats, WorkerView};
use crate::time::Timestamp;
use crate::timers::{TimerKey, Timers};
use crate::worker::{Phase, Worker};
use ahead::Lines;
use batching::Gathering;
use recycling::Recycling;

/// The decisions of one pool. See the crate's page for the contract.
#[derive(Debug)]
pub struct Scheduler {
    config: Config,
    now: Timestamp,
    phase: PoolPhase,
    /// Boxed: they are large, and the map moves them as it grows and shrinks.
    calls: BTreeMap<CallId, Box<Call>>,
    queue: Queue,
    lobby: Lobby,
    affinity: Affinity,
    /// Workers that calls wait for which go to no other.
    pinned_to: BTreeSet<WorkerId>,
    /// A call was refused since the queue was last empty.
    queue_was_full: bool,
    roster: Roster,
    placement: Placement<WorkerId>,
    lines: Lines,
    gathering: Gathering,
    /// Workers that are gone or going and have no successor yet.
    vacant: BTreeSet<WorkerId>,
    /// Workers wanted. Rises with demand; a death leaves it as it is.
    target: u32,
    /// Workers that the app waits for; none leaves for having nothing to do while they are too few.
    warming: u32,
    backoff: StartBackoff,
    recycling: Recycling,
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
            lobby: Lobby::default(),
            affinity: Affinity::default(),
            pinned_to: BTreeSet::new(),
            queue_was_full: false,
            roster: Roster::default(),
            placement: Placement::default(),
            lines: Lines::default(),
            gathering: Gathering::default(),
            vacant: BTreeSet::new(),
            target: 0,
            warming: 0,
            backoff: StartBackoff::default(),
            recycling: Recycling::default(),
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
            Input::Declare { call, declaration } => self.declare(call, declaration),
            Input::Cancel { call } => self.cancel(call),
            Input::Close { timeout } => self.close(timeout),
            Input::Terminate => self.terminate(),
            Input::Warm { workers } => self.warm(workers),
            Input::Reload => self.reload(),
            Input::Sample { worker, memory } => self.sample(worker, memory),
            Input::Headroom { memory } => self.recycling.headroom = memory,
            Input::Pong { worker } => self.pong(worker),
            Input::Attach { attachment } => self.attach(attachment),
            Input::Claims { worker } => self.claims(worker),
            Input::TakenBack { worker, asked, taken } => self.taken_back(worker, asked, taken),
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
            in_lobby: self.lobby.len(),
            workers: self.roster.iter().map(|worker| view(worker, now)).collect(),
        }
    }

    /// The workers that take calls now, in order.
    pub fn ready_workers(&self) -> Vec<WorkerId> {
        self.roster.iter().filter(|worker| worker.is_ready()).map(|worker| worker.id).collect()
    }

    /// Whether so many workers take calls now.
    pub fn is_warm(&self, workers: u32) -> bool {
        self.roster.iter().filter(|worker| worker.is_ready()).count() >= workers as usize
    }

    /// Whether a small call that is submitted now would find room to run or wait.
    pub fn has_room(&self) -> bool {
        let Config { max_queue, max_queue_bytes, .. } = self.config;
        let newcomer = Newcomer { slots: 1, bytes: 0 };
        self.phase.accepts_calls()
            && self.lobby.is_empty()
            && self.queue.admits(newcomer, self.room_to_come(), max_queue, max_queue_bytes)
    }

    /// Whether a call waits for room in the queue.
    pub fn is_in_lobby(&self, call: CallId) -> bool {
        self.lobby.contains(call)
    }

    /// Calls that wait in the queue.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether no call runs or waits.
    pub fn is_drained(&self) -> bool {
        self.calls.is_empty()
    }

    /// The calls that run or wait, oldest first.
    pub fn calls(&self, now: Timestamp) -> impl Iterator<Item = CallView> + '_ {
        self.calls.iter().map(move |(&id, call)| CallView {
            call: id,
            age: now.since(call.submitted_at),
            worker: match call.state {
                CallState::InLobby | CallState::Waiting | CallState::Lying { .. } => None,
                CallState::Running { worker, .. } => Some(worker),
            },
            attempts: call.attempts,
        })
    }

    fn fire(&mut self, key: TimerKey) {
        match key {
            TimerKey::FullTimeout(call) => self.full_timeout(call),
            TimerKey::QueueTimeout(call) => self.queue_timeout(call),
            TimerKey::Timeout(call) => self.attempt_timeout(call),
            TimerKey::Deadline(call) => self.deadline(call),
            TimerKey::CancelGrace(worker, call) => self.grace_over(worker, call),
            TimerKey::Linger(worker) => self.linger_check(worker),
            TimerKey::WorkerStart(worker) => self.start_timeout(worker),
            TimerKey::WorkerStop(worker) => self.stop_timeout(worker),
            TimerKey::Health(worker) => self.health_check(worker),
            TimerKey::Ping(worker) => self.ping_timeout(worker),
            TimerKey::Idle(worker) => self.idle_check(worker),
            TimerKey::Age(worker) => self.too_old(worker),
            // Nothing to do but to look again at what should be started or handed over.
            TimerKey::StartBackoff | TimerKey::RecyclePause | TimerKey::Batch(_) => {}
            TimerKey::Close => self.close_timeout(),
        }
    }

    /// What follows from any change: calls go to workers, workers start, a draining pool ends.
    fn settle_down(&mut self) {
        self.dispatch();
        self.replace_due_workers();
        self.admit_from_lobby();
        self.start_workers();
        self.fail_hopeless_calls();
        self.end_warming();
        if self.queue_was_full && self.queue.is_empty() && self.lobby.is_empty() {
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
        memory: worker.memory,
        recycling: worker.recycle.is_some(),
        age: now.since(worker.born_at),
    }
}
