//! The pool's books: the scheduler, and beside it what it must not see — payloads, callers, links, processes.
//!
//! What goes by numbers of the pool's own is found by a quick hash. Names come from outside, and have one that nobody can play with.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use ganger_protocol::message::Contract;
use ganger_scheduler::{
    CallId, Config, Heard, Input as News, Scheduler, Timestamp, WhenFull as WhenQueueFull, WorkerId,
};
use rustc_hash::FxHashMap;
use tokio::sync::{Notify, oneshot};

use super::Aftermath;
use super::ahead::Ahead;
use super::in_flight::InFlight;
use super::loans::Loans;
use super::past::Past;
use super::tally::{Place, Tally};
use super::waits::Waits;
use crate::call::{Call, Completion, Outcome};
use crate::crew::Lanes;
use crate::error::{Error, WorkerDeath};
use crate::link::Link;
use crate::options::{PoolOptions, WhenFull};
use crate::process::WorkerProcess;
use crate::recorder::Recorder;
use crate::sampler::{Memory, OomKills};
use crate::stats::Latencies;
use crate::stream::{Route, Supply, Unread};

#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) scheduler: Scheduler,
    pub(super) recorder: Recorder,
    pub(crate) calls: FxHashMap<CallId, PendingCall>,
    pub(crate) crew: FxHashMap<WorkerId, Member>,
    pub(crate) latencies: Latencies,
    pub(super) tally: Tally,
    /// Why the last start failed that did.
    pub(crate) last_start_failure: Option<Arc<Error>>,
    pub(crate) closed: Closed,
    /// Who waits for something to become so.
    pub(crate) waits: Waits,
    /// What ready workers say of their functions, by name.
    pub(super) contracts: HashMap<String, Contract>,
    pub(super) devices: Vec<Arc<str>>,
    pub(super) memory_limit: Option<u64>,
    /// What has changed, while the scheduler is being told of it.
    pub(crate) changed_files: Vec<String>,
    pub(super) pool: Arc<str>,
    pub(super) attachments: FxHashMap<u64, Lanes>,
    /// The answer that the news being told is about; taken when the scheduler settles its call.
    pub(super) answer: Option<(CallId, Outcome)>,
    /// What a call that is being cancelled is settled with.
    pub(super) instead: Option<(CallId, Box<Error>)>,
    /// The worker whose end the news being told is about.
    pub(crate) obituary: Option<Obituary>,
    next_call: u64,
    /// Told of the next call; who waits has nothing to do before.
    awaits_call: Option<oneshot::Sender<()>>,
    pub(super) next_attachment: u64,
}

/// Who waits for the end of the pool.
pub(crate) enum Closed {
    /// It has not ended; they wait.
    NotYet(Vec<Box<dyn FnOnce() + Send>>),
    /// It has.
    Yes,
}

/// A call that comes in.
pub(crate) struct Newcomer {
    pub(crate) call: Call,
    pub(crate) completion: Completion,
    pub(crate) streams: Streams,
}

/// The streams of a call, each way that it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// Where its items go; none: they are gathered.
    pub(crate) unread: Option<Arc<Unread>>,
    /// Where its inputs come from.
    pub(crate) supply: Option<Arc<Supply>>,
}

impl Streams {
    pub(crate) fn is_none(&self) -> bool {
        self.unread.is_none() && self.supply.is_none()
    }

    /// A worker has been given the call: items come from there, and inputs go there.
    pub(super) fn begin(&self, route: impl Fn() -> Route) {
        if let Some(unread) = &self.unread {
            unread.begin(route());
        }
        if let Some(supply) = &self.supply {
            supply.begin(route());
        }
    }
}

/// A call that is not settled.
pub(crate) struct PendingCall {
    pub(crate) call: Call,
    pub(crate) completion: Completion,
    pub(crate) streams: Streams,
    pub(crate) submitted_at: Timestamp,
    pub(crate) assigned_at: Option<Timestamp>,
    pub(super) counted_at: Place,
    /// Told when the call has got room to wait; none once it has.
    pub(crate) admitted: Option<Box<dyn FnOnce() + Send>>,
}

/// A worker, as far as the shell knows it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Process,
    pub(crate) handshake: Handshake,
    /// Rises with every call written; 0 is about no call.
    pub(crate) last_seq: u64,
    /// Calls that it has not answered.
    pub(crate) in_flight: FxHashMap<u64, InFlight>,
    /// Functions of the calls that it was asked to stop, should one of them be its end.
    pub(crate) asked: FxHashMap<CallId, Arc<str>>,
    pub(crate) born_at: Timestamp,
    /// How it broke the protocol, if it did.
    pub(crate) violation: Option<String>,
    /// Why it cannot start, as it said itself or as was found when it was tried.
    pub(crate) start_error: Option<Error>,
    /// Killed for not being ready in time.
    pub(crate) too_slow: bool,
    /// Its hard limit, if it has one.
    pub(crate) memory_limit: Option<u64>,
    /// What the system had killed for memory when it began, if the system counts that.
    pub(crate) oom_kills_at_birth: Option<OomKills>,
    /// The device that it is bound to.
    pub(crate) device: Option<Arc<str>>,
    pub(crate) past: Past,
    pub(crate) loans: Loans,
    pub(crate) ahead: Ahead,
}

/// The process behind a worker.
#[derive(Debug)]
pub(crate) enum Process {
    /// The start is under way. If it is killed by then, it ends as soon as it begins.
    Coming { killed: bool },
    /// It runs, started by the pool.
    Own { process: Arc<WorkerProcess>, link: Arc<Link> },
    /// It runs, started by somebody else. Its lanes close when `leave` rings.
    Attached { pid: Option<u32>, link: Arc<Link>, leave: Arc<Notify> },
}

/// How far a worker has introduced itself.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// Nothing was heard.
    Silent,
    /// It was welcomed and loads its code.
    Welcomed,
    /// It takes calls of these functions.
    Ready(Arc<[Contract]>),
}

/// What is kept of a worker that is gone, for the calls that it took with it.
#[derive(Clone, Debug)]
pub(crate) struct Obituary {
    /// Its `cause` is known only to the scheduler, which tells it with every call.
    pub(crate) record: WorkerDeath,
    pub(crate) violation: Option<String>,
    /// Why it was never ready, if it was not.
    pub(crate) start_failure: Option<Arc<Error>>,
    /// Functions of the calls that it had been asked to stop.
    pub(crate) asked: FxHashMap<CallId, Arc<str>>,
}

impl Books {
    pub(super) fn new(options: &PoolOptions, workers: u32) -> Self {
        let config = config(options, workers);
        Self {
            scheduler: Scheduler::new(config.clone()),
            recorder: Recorder::new(config),
            calls: FxHashMap::default(),
            crew: FxHashMap::default(),
            latencies: Latencies::new(),
            tally: Tally::default(),
            last_start_failure: None,
            closed: Closed::NotYet(Vec::new()),
            waits: Waits::default(),
            contracts: HashMap::new(),
            devices: options.devices.iter().map(|device| device.as_str().into()).collect(),
            memory_limit: options.memory_limit,
            changed_files: Vec::new(),
            pool: options.name.as_str().into(),
            attachments: FxHashMap::default(),
            answer: None,
            instead: None,
            obituary: None,
            next_call: 0,
            awaits_call: None,
            next_attachment: 0,
        }
    }

    pub(super) fn enter(&mut self, newcomer: Newcomer, now: Timestamp) -> CallId {
        let Newcomer { call, completion, streams } = newcomer;
        self.next_call += 1;
        if let Some(waiting) = self.awaits_call.take() {
            let _ = waiting.send(());
        }
        let id = CallId(self.next_call);
        let counted_at = self.tally.submitted(&call.function);
        let pending = PendingCall {
            call,
            completion,
            streams,
            submitted_at: now,
            assigned_at: None,
            counted_at,
            admitted: None,
        };
        self.calls.insert(id, pending);
        id
    }

    /// How many calls have been made so far.
    pub(crate) fn calls_made(&self) -> u64 {
        self.next_call
    }

    /// Comes when more than `made` calls have been made, or some still run.
    pub(crate) fn next_call_after(&mut self, made: u64) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        if self.next_call == made && self.calls.is_empty() {
            self.awaits_call = Some(sender);
        } else {
            let _ = sender.send(());
        }
        receiver
    }

    /// The predecessor's as long as that one is there, else the device with the fewest workers.
    pub(super) fn device_for_successor_of(&self, predecessor: Option<WorkerId>) -> Option<Arc<str>> {
        let inherited = predecessor.and_then(|old| self.crew.get(&old)?.device.clone());
        inherited.or_else(|| self.free_device())
    }

    fn free_device(&self) -> Option<Arc<str>> {
        let holders = |device: &Arc<str>| {
            self.crew.values().filter(|member| member.device.as_ref() == Some(device)).count()
        };
        self.devices.iter().min_by_key(|device| holders(device)).cloned()
    }

    /// `bytes` is what counts against a limit of the pool's own.
    pub(crate) fn note_memory(&mut self, worker: WorkerId, bytes: u64, memory: Memory) {
        if let Some(member) = self.crew.get_mut(&worker) {
            member.past.sampled(bytes, memory);
        }
    }

    /// The pool's name.
    pub(super) fn name(&self) -> String {
        self.pool.to_string()
    }

    /// Tells the scheduler one piece of news and does what it says.
    pub(crate) fn tell(&mut self, now: Timestamp, news: News, aftermath: &mut Aftermath) {
        self.recorder.note(now, Heard::Input(news.clone()));
        self.scheduler.handle(now, news);
        self.carry_out(now, aftermath);
        self.tally.present(self.crew.len(), self.scheduler.queued());
    }

    /// Tells the scheduler what time it is and does what it says.
    pub(super) fn strike(&mut self, now: Timestamp, aftermath: &mut Aftermath) {
        self.recorder.note(now, Heard::Clock);
        self.scheduler.handle_timeout(now);
        self.carry_out(now, aftermath);
        self.tally.present(self.crew.len(), self.scheduler.queued());
    }

    /// Has `admitted` told as soon as the call no longer waits for room in the queue.
    pub(super) fn tell_when_admitted(
        &mut self,
        call: CallId,
        admitted: Box<dyn FnOnce() + Send>,
        aftermath: &mut Aftermath,
    ) {
        match self.calls.get_mut(&call) {
            Some(pending) if self.scheduler.is_in_lobby(call) => pending.admitted = Some(admitted),
            Some(_) | None => aftermath.run(admitted),
        }
    }

    /// The contract of a function, as any ready worker tells it.
    pub(crate) fn functions(&self) -> Option<Arc<[Contract]>> {
        self.crew.values().find_map(|member| match &member.handshake {
            Handshake::Ready(contracts) => Some(Arc::clone(contracts)),
            Handshake::Silent | Handshake::Welcomed => None,
        })
    }
}

impl Member {
    pub(super) fn new(process: Process, born_at: Timestamp) -> Self {
        Self {
            process,
            handshake: Handshake::Silent,
            last_seq: 0,
            in_flight: FxHashMap::default(),
            asked: FxHashMap::default(),
            born_at,
            violation: None,
            start_error: None,
            too_slow: false,
            memory_limit: None,
            oom_kills_at_birth: None,
            device: None,
            past: Past::default(),
            loans: Loans::default(),
            ahead: Ahead::default(),
        }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        match &self.process {
            Process::Coming { .. } => None,
            Process::Own { process, .. } => Some(process.pid()),
            Process::Attached { pid, .. } => *pid,
        }
    }

    pub(crate) fn link(&self) -> Option<&Arc<Link>> {
        match &self.process {
            Process::Coming { .. } => None,
            Process::Own { link, .. } | Process::Attached { link, .. } => Some(link),
        }
    }

    /// The number under which a call was written to it.
    pub(super) fn seq_of(&self, call: CallId) -> Option<u64> {
        // As many as the worker has slots: looking through them costs less than a second table for every call.
        self.in_flight.iter().find(|(_, flight)| flight.call == call).map(|(seq, _)| *seq)
    }
}

/// What the scheduler must know of a pool's options.
fn config(options: &PoolOptions, workers: u32) -> Config {
    Config {
        workers,
        min_workers: options.min_workers.min(workers),
        idle_timeout: options.idle_timeout,
        concurrency: options.concurrency.get(),
        max_queue: options.max_queue as usize,
        max_queue_bytes: options.max_queue_bytes,
        when_full: match options.when_full {
            WhenFull::Reject => WhenQueueFull::Reject,
            WhenFull::Wait => WhenQueueFull::Wait { timeout: options.full_timeout },
        },
        start_timeout: options.start_timeout,
        stop_timeout: options.stop_timeout,
        health_interval: options.health_interval,
        health_timeout: options.health_timeout,
        max_calls: options.max_calls,
        max_age: options.max_age,
        max_memory: options.max_memory,
        memory_samples: MEMORY_SAMPLES,
        jitter_percent: JITTER_PERCENT,
        max_replacing: options.max_replacing,
        // Another pool's workers should not expire in step with this one's, even after the same start.
        seed: RandomState::new().hash_one(&options.name),
    }
}

/// Samples in a row over the limit before a worker is replaced.
const MEMORY_SAMPLES: u32 = 2;
/// How far each worker's limits are moved, so that workers do not expire together.
const JITTER_PERCENT: u32 = 10;

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingCall").field("call", &self.call).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotYet(_) => "NotYet",
            Self::Yes => "Yes",
        })
    }
}
