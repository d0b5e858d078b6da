//! The settings of a pool, already valid.

use std::time::Duration;

/// What the scheduler must know of a pool's options. The shell parses, checks and defaults them.
#[derive(Clone, Debug)]
pub struct Config {
    /// Most workers alive at once, attached ones not counted.
    pub workers: u32,
    /// Slots of a worker.
    pub concurrency: u32,
    /// Most calls that wait beyond the room that workers have or will have.
    pub max_queue: usize,
    /// Most bytes of input that wait.
    pub max_queue_bytes: u64,
    /// From spawn to ready; a worker that takes longer is killed.
    pub start_timeout: Duration,
    /// From the request to stop to the exit; a worker that takes longer is killed.
    pub stop_timeout: Duration,
}
