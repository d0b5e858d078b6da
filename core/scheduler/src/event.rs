//! Past facts for observers. The shell adds what only it knows: pids, names, memory.

use std::time::Duration;

use crate::failure::DeathCause;
use crate::id::{CallId, WorkerId};
use crate::input::Exit;
use crate::recycle::RecycleReason;

/// Something that happened in the pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A worker's process is being started.
    WorkerStart {
        /// Which worker.
        worker: WorkerId,
    },
    /// A worker can take calls.
    WorkerReady {
        /// Which worker.
        worker: WorkerId,
        /// From spawn to ready.
        started_in: Duration,
    },
    /// A worker is gone.
    WorkerExit {
        /// Which worker.
        worker: WorkerId,
        /// How its process ended.
        exit: Exit,
        /// Calls it had.
        running: usize,
        /// Calls it had answered.
        calls: u64,
        /// Why, in a word.
        reason: ExitReason,
        /// Why, exactly.
        cause: DeathCause,
    },
    /// A call is going to run again.
    CallRetry {
        /// Which call.
        call: CallId,
        /// The attempt that was lost.
        attempt: u32,
        /// How often it may run again in all.
        retries: u32,
        /// The worker that died.
        worker: WorkerId,
    },
    /// A call was refused because the queue is full; not repeated until the queue has drained.
    QueueFull {
        /// Calls waiting.
        waiting: usize,
        /// Bytes waiting.
        bytes: u64,
    },
    /// The queue is empty again after it had been full.
    QueueDrain,
    /// A worker is going to be replaced.
    WorkerRecycle {
        /// Which worker.
        worker: WorkerId,
        /// Why.
        reason: RecycleReason,
        /// What it was last seen to use, in bytes.
        memory: Option<u64>,
        /// Calls it has answered.
        calls: u64,
        /// Its replacement starts only when it is gone, because there is no memory for both.
        cold: bool,
    },
    /// A worker without calls did not answer the health check.
    WorkerUnresponsive {
        /// Which worker.
        worker: WorkerId,
        /// How long it had.
        timeout: Duration,
    },
    /// The code has changed and workers are going to be replaced.
    Reload {
        /// How many.
        replaced: usize,
    },
    /// A worker serves on, because the one that was to take its place could not start. Told once, until one starts or the code changes.
    ReplacementFailed {
        /// The one that serves on.
        worker: WorkerId,
        /// The one that could not start.
        replacement: WorkerId,
    },
    /// A worker uses more than the limit since before its first call: replacing workers for their memory would never end, and is
    /// given up.
    MemoryFloor {
        /// Which worker.
        worker: WorkerId,
        /// What it uses, in bytes.
        memory: u64,
    },
}

/// Why a worker is gone, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitReason {
    /// It died or was killed for what it did.
    Crash,
    /// It never became ready.
    StartFailed,
    /// It was replaced on purpose.
    Recycled,
    /// It was no longer wanted.
    Shutdown,
    /// It did not answer the health check.
    Unresponsive,
}
