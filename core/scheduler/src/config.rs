//! The settings of a pool, already valid.

use std::time::Duration;

/// What the scheduler must know of a pool's options. The shell parses, checks and defaults them.
#[derive(Clone, Debug)]
pub struct Config {
    /// Most workers alive at once, attached ones and replacements not counted.
    pub workers: u32,
    /// Fewest workers once the pool has been warmed that far.
    pub min_workers: u32,
    /// A worker without calls for so long is stopped, down to `min_workers`; none: it stays.
    pub idle_timeout: Option<Duration>,
    /// Slots of a worker.
    pub concurrency: u32,
    /// Most calls that wait beyond the room that workers have or will have.
    pub max_queue: usize,
    /// Most bytes of input that wait.
    pub max_queue_bytes: u64,
    /// What becomes of a call for which there is no room to wait.
    pub when_full: WhenFull,
    /// From spawn to ready; a worker that takes longer is killed.
    pub start_timeout: Duration,
    /// From the request to stop to the exit; a worker that takes longer is killed.
    pub stop_timeout: Duration,
    /// How often a worker without calls is pinged; none: never.
    pub health_interval: Option<Duration>,
    /// How long it may take to answer; one that takes longer is killed.
    pub health_timeout: Duration,
    /// A worker that has answered so many calls is replaced; none: never.
    pub max_calls: Option<u64>,
    /// A worker that has lived so long is replaced; none: never.
    pub max_age: Option<Duration>,
    /// A worker that uses so many bytes is replaced; none: never.
    pub max_memory: Option<u64>,
    /// Samples in a row over `max_memory` before a worker is replaced: one is often a spike.
    pub memory_samples: u32,
    /// How far each worker's limits are moved up or down, in percent, so that workers do not expire together.
    pub jitter_percent: u32,
    /// Most workers being replaced at once, beyond `workers`.
    pub max_replacing: u32,
    /// Where the jitter comes from.
    pub seed: u64,
}

/// What becomes of a call for which there is no room to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// It fails at once.
    Reject,
    /// It waits for a place in the queue, in the order of submission.
    Wait {
        /// How long; none: until another clock of the call ends it.
        timeout: Option<Duration>,
    },
}

impl Default for Config {
    /// One worker that runs one call at a time, with nothing that happens by itself. The shell states every field; this is for
    /// tests, which state what they are about.
    fn default() -> Self {
        Self {
            workers: 1,
            min_workers: 0,
            idle_timeout: None,
            concurrency: 1,
            max_queue: 10_000,
            max_queue_bytes: 256 << 20,
            when_full: WhenFull::Reject,
            start_timeout: Duration::from_secs(60),
            stop_timeout: Duration::from_secs(5),
            health_interval: None,
            health_timeout: Duration::from_secs(10),
            max_calls: None,
            max_age: None,
            max_memory: None,
            memory_samples: 2,
            jitter_percent: 0,
            max_replacing: 1,
            seed: 0,
        }
    }
}
