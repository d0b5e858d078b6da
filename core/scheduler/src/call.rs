//! A call from submission to settlement.

use std::time::Duration;

use crate::id::{CallId, WorkerId};
use crate::time::Timestamp;

/// What the scheduler must know of a call. All defaults are already filled in.
#[derive(Clone, Debug)]
pub struct CallSpec {
    /// Bytes of input, for the queue's bound.
    pub bytes: u64,
    /// Higher goes first.
    pub priority: i32,
    /// What it takes of its worker's concurrency.
    pub slots: u32,
    /// What it costs a node, 1 to 100. A local pool carries it and ignores it.
    pub weight: u8,
    /// May run again after its worker died.
    pub idempotent: bool,
    /// How often it may run again if it is idempotent.
    pub retries: u32,
    /// Most time in the queue before the first attempt.
    pub queue_timeout: Option<Duration>,
    /// Most time of each attempt.
    pub timeout: Option<Duration>,
    /// Most time from submission to settlement.
    pub deadline: Option<Duration>,
    /// From asking the worker to stop this call to killing the worker.
    pub cancel_grace: Duration,
    /// Calls with the same key prefer the same worker.
    pub affinity: Option<u64>,
    /// Alone on its worker.
    pub exclusive: bool,
    /// On this worker and no other, before all calls that wait; for calls to every worker.
    pub pinned: Option<WorkerId>,
    /// Handed over together with others that wait; none: by itself.
    pub batch: Option<Box<Batch>>,
    /// May be laid before a busy worker: it is small and has no stream.
    pub ahead: bool,
}

/// Which calls are handed over together, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// The same number for all that go together: calls of one function.
    pub key: u64,
    /// Calls of a batch at most; 1 or less: each call goes by itself.
    pub max: u32,
    /// How long after its submission a call waits for others while there is room for it.
    pub wait: Duration,
}

/// What a function may say of its calls, or the call of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// May run again after its worker died.
    pub idempotent: bool,
    /// Most time of each attempt; none: as the call has it.
    pub timeout: Option<Duration>,
    /// What it takes of its worker's concurrency; none: as the call has it.
    pub slots: Option<u32>,
    /// Alone on its worker.
    pub exclusive: bool,
    /// Handed over together with others.
    pub batch: Option<Batch>,
}

/// Whether a function may have begun to run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Started {
    /// Not one byte of the call reached a worker.
    No,
    /// It was written to a worker and nothing came back.
    Maybe,
    /// Its worker sent something about it.
    Yes,
}

/// A call that runs or waits, for people who look.
#[derive(Clone, Debug)]
pub struct CallView {
    /// Which call.
    pub call: CallId,
    /// Since its submission.
    pub age: Duration,
    /// Where it runs; none while it waits.
    pub worker: Option<WorkerId>,
    /// Attempts begun.
    pub attempts: u32,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) spec: CallSpec,
    pub(crate) submitted_at: Timestamp,
    pub(crate) attempts: u32,
    pub(crate) retries_used: u32,
    /// Places that lost it: none of them gets it again.
    pub(crate) excluded: Vec<WorkerId>,
    pub(crate) state: CallState,
    /// What is known of earlier attempts, so that a requeued call never claims it had not started.
    pub(crate) started_before: Started,
}

#[derive(Debug)]
pub(crate) enum CallState {
    /// There is no room in the queue; it waits outside.
    InLobby,
    Waiting,
    /// It waits, and lies ready at a worker. Whether it has begun is known when that worker answers, or is asked.
    Lying {
        worker: WorkerId,
    },
    Running {
        worker: WorkerId,
        since: Timestamp,
        started: Started,
    },
}

impl Call {
    pub(crate) fn new(spec: CallSpec, now: Timestamp) -> Self {
        Self {
            spec,
            submitted_at: now,
            attempts: 0,
            retries_used: 0,
            excluded: Vec::new(),
            state: CallState::Waiting,
            started_before: Started::No,
        }
    }

    /// How it goes with others. One that is for one worker alone goes by itself; so does one that was lost with a worker: should it be
    /// what ended that one, it ends nobody else's call.
    pub(crate) fn batch(&self) -> Option<Batch> {
        let by_itself = self.spec.pinned.is_some() || self.retries_used > 0;
        self.spec.batch.as_deref().copied().filter(|batch| batch.max > 1 && !by_itself)
    }

    pub(crate) fn begin(&mut self, worker: WorkerId, now: Timestamp) {
        self.attempts += 1;
        self.state = CallState::Running { worker, since: now, started: Started::Maybe };
    }

    /// The worker died before a byte of the call was written: as if it had never been assigned.
    pub(crate) fn undo_begin(&mut self) {
        self.attempts -= 1;
        self.state = CallState::Waiting;
    }

    /// The attempt is lost with its worker and another will follow.
    pub(crate) fn lose_attempt(&mut self, worker: WorkerId) {
        self.started_before = self.started();
        self.retries_used += 1;
        self.excluded.push(worker);
        self.state = CallState::Waiting;
    }

    pub(crate) fn running_since(&self) -> Option<Timestamp> {
        match self.state {
            CallState::InLobby | CallState::Waiting | CallState::Lying { .. } => None,
            CallState::Running { since, .. } => Some(since),
        }
    }

    pub(crate) fn heard(&mut self) {
        if let CallState::Running { started, .. } = &mut self.state {
            *started = Started::Yes;
        }
    }

    pub(crate) fn started(&self) -> Started {
        let now = match self.state {
            CallState::InLobby | CallState::Waiting => Started::No,
            CallState::Lying { .. } => Started::Maybe,
            CallState::Running { started, .. } => started,
        };
        now.max(self.started_before)
    }

    /// Time left for an attempt that begins now: the shorter of its timeout and what remains of the deadline.
    pub(crate) fn remaining(&self, now: Timestamp) -> Option<Duration> {
        let of_deadline = self.spec.deadline.map(|span| self.submitted_at.after(span).since(now));
        match (self.spec.timeout, of_deadline) {
            (Some(timeout), Some(rest)) => Some(timeout.min(rest)),
            (one, other) => one.or(other),
        }
    }
}
