//! Numbers for people who look.

use std::time::Duration;

use crate::id::WorkerId;

/// What was counted since the pool began. Every submitted call is in exactly one of `answered`, `failed`, `cancelled` once it is
/// settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls submitted, refused ones too.
    pub submitted: u64,
    /// Calls settled by their worker's answer.
    pub answered: u64,
    /// Calls settled without an answer, cancelled ones not counted.
    pub failed: u64,
    /// Calls settled because the caller gave up.
    pub cancelled: u64,
    /// Attempts lost with a worker and followed by another.
    pub retried: u64,
    /// Batches handed over, of two calls or more.
    pub batches: u64,
    /// Calls handed over in them, as often as they were.
    pub batched: u64,
    /// Workers started.
    pub started: u64,
    /// Workers that died without being asked to.
    pub crashed: u64,
    /// Starts that failed.
    pub start_failed: u64,
    /// Workers replaced because they had answered enough calls.
    pub recycled_calls: u64,
    /// Workers replaced for their memory.
    pub recycled_memory: u64,
    /// Workers replaced for their age.
    pub recycled_age: u64,
    /// Workers replaced because their code had changed.
    pub recycled_reload: u64,
    /// Workers killed for not answering a ping.
    pub unresponsive: u64,
    /// Calls laid before a busy worker; one that was taken back and laid again counts again.
    pub handed_ahead: u64,
    /// Calls that were taken back from there.
    pub taken_back: u64,
}

/// A picture of the pool at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stats {
    /// What was counted.
    pub counters: Counters,
    /// Calls waiting.
    pub queued: usize,
    /// Bytes of input waiting.
    pub queued_bytes: u64,
    /// Calls that wait for room in the queue.
    pub in_lobby: usize,
    /// Every worker whose process is not known to be gone.
    pub workers: Vec<WorkerView>,
}

/// A worker at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerView {
    /// Which worker.
    pub worker: WorkerId,
    /// Takes calls.
    pub ready: bool,
    /// Not ready yet.
    pub starting: bool,
    /// Calls in progress, those that it was asked to stop too.
    pub running: usize,
    /// Calls it has answered.
    pub answered: u64,
    /// What it was last seen to use, in bytes.
    pub memory: Option<u64>,
    /// It is to be replaced, or leaves because it was.
    pub recycling: bool,
    /// Since it was spawned.
    pub age: Duration,
}
