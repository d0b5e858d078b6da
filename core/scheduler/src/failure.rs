//! Why a call has no answer, and why a worker died.

use std::time::Duration;

use crate::id::{CallId, WorkerId};

/// Why a call has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No room to wait.
    QueueFull {
        /// Calls waiting.
        waiting: usize,
        /// Bytes waiting.
        bytes: u64,
        /// Calls running.
        running: usize,
    },
    /// Waited too long for its first attempt.
    QueueTimeout {
        /// How long it waited.
        waited: Duration,
        /// Calls waiting when it gave up.
        waiting: usize,
        /// Calls running when it gave up.
        running: usize,
    },
    /// An attempt took too long.
    Timeout {
        /// How long it ran.
        ran: Duration,
    },
    /// The whole took too long.
    DeadlineExceeded {
        /// Since its submission.
        age: Duration,
    },
    /// The caller gave up.
    Cancelled,
    /// Its worker died.
    WorkerDied {
        /// Which worker.
        worker: WorkerId,
        /// Why it died.
        cause: DeathCause,
    },
    /// No worker can be started.
    StartFailed,
    /// The pool takes no calls, or ended before this one did.
    PoolClosed,
    /// Takes more slots than a worker has.
    TooManySlots {
        /// What it asked for.
        slots: u32,
        /// What a worker has.
        concurrency: u32,
    },
}

/// Why a worker died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeathCause {
    /// It ended by itself.
    Exit,
    /// A signal from elsewhere.
    Signal,
    /// Killed for a call that would not stop.
    CancelKill {
        /// That call.
        culprit: CallId,
    },
    /// Killed for not being ready in time.
    StartTimeout,
    /// Stopped or killed because the pool ends.
    Close,
    /// Stopped because it had nothing to do.
    Idle,
    /// Stopped because it was replaced.
    Recycled,
    /// Killed for not answering a ping.
    Unresponsive,
    /// Killed for breaking the protocol.
    Protocol,
    /// Its process could not be started.
    NotStarted,
    /// It was attached and left.
    Detached,
}
