//! The pool's books: the scheduler, and beside it what it must not see — payloads, callers, links, processes.

use std::collections::HashMap;
use std::sync::Arc;

use ganger_protocol::message::{Contract, ErrorReport};
use ganger_scheduler::{CallId, Config, Input as News, Scheduler, Timestamp, WorkerId};
use tokio::sync::Notify;

use super::Aftermath;
use crate::call::{CallRequest, Completion, Outcome};
use crate::crew::Lanes;
use crate::error::{ErrorCode, WorkerDeath};
use crate::link::Link;
use crate::options::PoolOptions;
use crate::process::WorkerProcess;
use crate::stats::Latencies;

#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) scheduler: Scheduler,
    pub(crate) calls: HashMap<CallId, PendingCall>,
    pub(crate) crew: HashMap<WorkerId, Member>,
    pub(crate) latencies: Latencies,
    /// Outcomes, as callers got them.
    pub(crate) tally: Tally,
    /// What the last start that failed had to say.
    pub(crate) last_start_failure: Option<Arc<StartFailure>>,
    pub(crate) closed: Closed,
    pub(super) pool: Arc<str>,
    pub(super) attachments: HashMap<u64, Lanes>,
    /// The answer that the news being told is about; taken when the scheduler settles its call.
    pub(super) answer: Option<(CallId, Outcome)>,
    /// The worker whose end the news being told is about.
    pub(crate) obituary: Option<Obituary>,
    next_call: u64,
    pub(super) next_attachment: u64,
}

/// Settled calls by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) cancelled: u64,
}

impl Tally {
    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Ok(_) => self.completed += 1,
            Err(error) if error.code == ErrorCode::Cancelled => self.cancelled += 1,
            Err(_) => self.failed += 1,
        }
    }
}

/// Who waits for the end of the pool.
pub(crate) enum Closed {
    /// It has not ended; they wait.
    NotYet(Vec<Box<dyn FnOnce() + Send>>),
    /// It has.
    Yes,
}

/// A call that is not settled.
pub(crate) struct PendingCall {
    pub(crate) request: CallRequest,
    pub(crate) completion: Completion,
    pub(crate) submitted_at: Timestamp,
    pub(crate) assigned_at: Option<Timestamp>,
}

/// A worker, as far as the shell knows it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Process,
    pub(crate) handshake: Handshake,
    /// Rises with every call written; 0 is about no call.
    pub(crate) last_seq: u64,
    /// Calls that it has not answered.
    pub(crate) in_flight: HashMap<u64, CallId>,
    /// Functions of the calls that it was asked to stop, should one of them be its end.
    pub(crate) asked: HashMap<CallId, Arc<str>>,
    pub(crate) born_at: Timestamp,
    /// How it broke the protocol, if it did.
    pub(crate) violation: Option<String>,
    /// Killed for not being ready in time.
    pub(crate) too_slow: bool,
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

/// Why a worker did not become ready.
#[derive(Clone, Debug)]
pub(crate) struct StartFailure {
    pub(crate) worker: WorkerId,
    /// In a sentence.
    pub(crate) message: String,
    /// What the worker itself said.
    pub(crate) report: Option<ErrorReport>,
    /// How its process ended; none until it has.
    pub(crate) death: Option<WorkerDeath>,
}

/// What is kept of a worker that is gone, for the calls that it took with it.
#[derive(Clone, Debug)]
pub(crate) struct Obituary {
    /// Its `cause` is known only to the scheduler, which tells it with every call.
    pub(crate) record: WorkerDeath,
    pub(crate) violation: Option<String>,
    /// Functions of the calls that it had been asked to stop.
    pub(crate) asked: HashMap<CallId, Arc<str>>,
}

impl Books {
    pub(super) fn new(options: &PoolOptions, workers: u32) -> Self {
        let config = Config {
            workers,
            concurrency: options.concurrency.get(),
            max_queue: options.max_queue as usize,
            max_queue_bytes: options.max_queue_bytes,
            start_timeout: options.start_timeout,
            stop_timeout: options.stop_timeout,
        };
        Self {
            scheduler: Scheduler::new(config),
            calls: HashMap::new(),
            crew: HashMap::new(),
            latencies: Latencies::new(),
            tally: Tally::default(),
            last_start_failure: None,
            closed: Closed::NotYet(Vec::new()),
            pool: options.name.as_str().into(),
            attachments: HashMap::new(),
            answer: None,
            obituary: None,
            next_call: 0,
            next_attachment: 0,
        }
    }

    pub(super) fn enter(&mut self, request: CallRequest, completion: Completion, now: Timestamp) -> CallId {
        self.next_call += 1;
        let id = CallId(self.next_call);
        self.calls.insert(id, PendingCall { request, completion, submitted_at: now, assigned_at: None });
        id
    }

    /// The pool's name.
    pub(super) fn name(&self) -> String {
        self.pool.to_string()
    }

    /// Tells the scheduler one piece of news and does what it says.
    pub(crate) fn tell(&mut self, now: Timestamp, news: News, aftermath: &mut Aftermath) {
        self.scheduler.handle(now, news);
        self.carry_out(now, aftermath);
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
            in_flight: HashMap::new(),
            asked: HashMap::new(),
            born_at,
            violation: None,
            too_slow: false,
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
        self.in_flight.iter().find(|(_, id)| **id == call).map(|(seq, _)| *seq)
    }
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingCall").field("request", &self.request).finish_non_exhaustive()
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
