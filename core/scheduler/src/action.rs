//! What the scheduler asks for.

use std::time::Duration;

use crate::call::Started;
use crate::event::Event;
use crate::failure::Failure;
use crate::id::{CallId, WorkerId};

/// One thing to do, to be done in the order given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Start a worker's process.
    Spawn {
        /// Its new id.
        worker: WorkerId,
        /// Whose place it takes: of one that serves until then, leaves, or is gone.
        replaces: Option<WorkerId>,
    },
    /// Take an attached process in as this worker.
    Admit {
        /// The number from [`Input::Attach`](crate::Input::Attach).
        attachment: u64,
        /// Its new id.
        worker: WorkerId,
    },
    /// Turn an attached process away: the pool is closing.
    Refuse {
        /// The number from [`Input::Attach`](crate::Input::Attach).
        attachment: u64,
    },
    /// Write a call to a worker.
    Assign {
        /// Which worker.
        worker: WorkerId,
        /// Which call.
        call: CallId,
        /// From 1.
        attempt: u32,
        /// Time that this attempt has.
        remaining: Option<Duration>,
        /// The calls it is handed over with, whose assignments stand next to each other; none: it goes by itself.
        batch: Option<HandedTogether>,
    },
    /// Lay a call before a worker that is busy. It may be taken back until the worker claims it.
    HandAhead {
        /// Which worker.
        worker: WorkerId,
        /// Which call.
        call: CallId,
        /// The attempt that it will be, from 1.
        attempt: u32,
        /// Time that this attempt has.
        remaining: Option<Duration>,
    },
    /// A worker has taken up a call that lay before it: an attempt has begun.
    TakeUp {
        /// Which worker.
        worker: WorkerId,
        /// Which call.
        call: CallId,
    },
    /// Take back the last calls that were laid before a worker, as many as it has not claimed, and say at once how many those were
    /// with [`Input::TakenBack`](crate::Input::TakenBack).
    TakeBack {
        /// Which worker.
        worker: WorkerId,
        /// So many at most.
        most: usize,
    },
    /// Ask a worker to stop a call.
    Cancel {
        /// Which worker.
        worker: WorkerId,
        /// Which call.
        call: CallId,
        /// Why.
        reason: CancelReason,
    },
    /// Ask a worker without calls whether it lives.
    Ping {
        /// Which worker.
        worker: WorkerId,
    },
    /// A call that had found no room to wait has got it. Comes at most once a call, and never for one that was taken at once.
    Admitted {
        /// Which call.
        call: CallId,
    },
    /// Ask a worker to end when it can.
    Stop {
        /// Which worker.
        worker: WorkerId,
        /// How long it has.
        timeout: Duration,
    },
    /// End a worker and its process group now.
    Kill {
        /// Which worker.
        worker: WorkerId,
        /// Why.
        cause: KillCause,
    },
    /// Tell the caller how its call ended. Comes exactly once a call.
    Settle {
        /// Which call.
        call: CallId,
        /// How.
        settlement: Settlement,
    },
    /// Tell observers.
    Emit(Event),
    /// The pool has no worker left and will never have one. The last action.
    Closed,
}

/// A call's place in a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandedTogether {
    /// From 0.
    pub nth: u32,
    /// Calls of the batch.
    pub count: u32,
}

/// Why a worker is asked to stop a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelReason {
    /// The caller asked.
    Cancel,
    /// Its attempt ran out of time.
    Timeout,
    /// The call ran out of time.
    Deadline,
}

/// Why a worker is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KillCause {
    /// A call did not stop within its grace.
    CancelKill {
        /// The call that would not stop.
        culprit: CallId,
    },
    /// It was not ready in time.
    StartTimeout,
    /// It did not stop in time, or the pool ends at once.
    Close,
    /// It did not answer a ping.
    Unresponsive,
    /// It broke the protocol.
    Protocol,
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Settlement {
    /// The worker's answer stands: a result, or an error of the function's own.
    Answered {
        /// Attempts begun.
        attempts: u32,
    },
    /// There is no answer.
    Failed {
        /// Why.
        failure: Failure,
        /// Whether the function may have begun.
        started: Started,
        /// Attempts begun.
        attempts: u32,
    },
}
