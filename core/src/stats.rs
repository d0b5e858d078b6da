//! Stats: what a pool does now and has done, in numbers.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::shape::{choices, record};

record! {
    /// What a pool does now, and what it has done since it began.
    #[derive(Default)]
    pub struct Stats {
        /// The pool's name.
        pub pool: String,
        /// Workers that exist, starting ones included.
        pub workers: u32,
        /// Workers that take calls.
        pub ready: u32,
        /// Workers that have calls.
        pub busy: u32,
        /// Workers that are not ready yet.
        pub starting: u32,
        /// Calls in progress.
        pub running: u64,
        /// Calls waiting.
        pub queued: u64,
        /// Bytes of input waiting.
        pub queued_bytes: u64,
        /// Calls submitted, refused ones included.
        pub submitted: u64,
        /// Calls that ended with a result.
        pub completed: u64,
        /// Calls that ended with an error, refused ones included.
        pub failed: u64,
        /// Calls that were cancelled.
        pub cancelled: u64,
        /// Attempts that were lost with a worker and followed by another.
        pub retried: u64,
        /// Batches that workers were given: two calls or more of one function, together.
        pub batches: u64,
        /// Calls that they were given in batches; a call that is tried again goes by itself.
        pub batched: u64,
        /// Workers that died without being asked to.
        pub crashed: u64,
        /// Workers that were replaced on purpose.
        pub recycled: Recycled,
        /// Workers that were killed because they did not answer the health check.
        pub unresponsive: u64,
        /// The most that there was at once.
        pub peak: Peak,
        /// Memory that the app shares with its workers.
        pub shared_memory: SharedMemoryStats,
        /// How long calls waited for their first attempt.
        pub wait: Latency,
        /// How long attempts ran.
        pub run: Latency,
        /// Calls by function, in the order of names. From the 1001st name on they are counted together as `(others)`.
        pub functions: Vec<FunctionStats>,
        /// Every worker.
        pub details: Vec<WorkerStats>,
    }

    /// Workers that were replaced on purpose, by reason.
    #[derive(Default)]
    pub struct Recycled {
        /// They had run enough calls.
        pub calls: u64,
        /// They used too much memory.
        pub memory: u64,
        /// The code changed.
        pub reload: u64,
        /// They had lived long enough.
        pub age: u64,
    }

    /// The most that there was at once since the pool began.
    #[derive(Default)]
    pub struct Peak {
        /// Workers, starting ones and replacements included.
        pub workers: u32,
        /// Calls waiting.
        pub queued: u64,
    }

    /// Memory that the app shares with its workers, for large inputs.
    #[derive(Default)]
    pub struct SharedMemoryStats {
        /// Bytes that it may have; 0 without shared memory.
        pub size: u64,
        /// Bytes of it that hold inputs now.
        pub used: u64,
        /// Large inputs that found no room and went through the socket.
        pub refused: u64,
    }

    /// What became of the calls of a function.
    #[derive(Default)]
    pub struct FunctionStats {
        /// The function.
        pub r#fn: String,
        /// Calls submitted, refused ones included.
        pub submitted: u64,
        /// Calls that ended with a result.
        pub completed: u64,
        /// Calls that ended with an error, refused ones included.
        pub failed: u64,
        /// Calls that were cancelled.
        pub cancelled: u64,
    }

    /// How long something took, in milliseconds, exact to one percent.
    #[derive(Default)]
    pub struct Latency {
        /// How many were measured.
        pub count: u64,
        /// Their mean.
        pub mean: f64,
        /// Half took at most so long.
        pub p50: f64,
        /// 90 % took at most so long.
        pub p90: f64,
        /// 99 % took at most so long.
        pub p99: f64,
        /// 99.9 % took at most so long.
        pub p999: f64,
        /// The longest.
        pub max: f64,
    }

    /// A worker now.
    #[derive(Default)]
    pub struct WorkerStats {
        /// Its place in the pool.
        pub index: u32,
        /// How many workers had that place before.
        pub generation: u32,
        /// Its process; null until there is one.
        pub pid: Option<u32>,
        /// Whether it takes calls.
        pub ready: bool,
        /// Whether it has calls.
        pub busy: bool,
        /// Calls it has.
        pub running: u64,
        /// Calls it has answered.
        pub calls: u64,
        /// Its memory in bytes; null where that is not known.
        pub memory: Option<u64>,
        /// Since it was started, in milliseconds.
        pub age: u64,
        /// Whether it is being replaced.
        pub recycling: bool,
        /// The device that it is bound to; null if the pool has none.
        pub device: Option<String>,
    }

    /// A call now.
    pub struct CallInfo {
        /// Its number in the pool.
        pub id: u64,
        /// The function.
        pub r#fn: String,
        /// Whether it waits or runs.
        pub state: CallState,
        /// Since it was submitted, in milliseconds.
        pub age: u64,
        /// The place in the pool of the worker that runs it.
        pub worker: Option<u32>,
        /// Attempts that were started.
        pub attempt: u32,
    }
}

choices! {
    /// Whether a call waits or runs.
    pub enum CallState {
        /// A worker has it.
        Running = "running",
        /// It is in the queue.
        Waiting = "waiting",
    }
}

/// How long calls waited and attempts ran, since the pool began.
#[derive(Debug)]
pub struct Latencies {
    wait: Histogram<u64>,
    run: Histogram<u64>,
}

impl Latencies {
    /// Nothing measured yet. Both histograms together take 62 KiB, whatever is recorded.
    pub fn new() -> Latencies {
        let empty = || Histogram::new_with_bounds(1, LONGEST_US, DIGITS).expect("the bounds are in order");
        Latencies { wait: empty(), run: empty() }
    }

    /// A call got its first attempt after so long.
    pub fn record_wait(&mut self, wait: Duration) {
        self.wait.saturating_record(microseconds(wait));
    }

    /// An attempt ended after so long.
    pub fn record_run(&mut self, run: Duration) {
        self.run.saturating_record(microseconds(run));
    }

    /// How long calls waited.
    pub fn wait(&self) -> Latency {
        summary(&self.wait)
    }

    /// How long attempts ran.
    pub fn run(&self) -> Latency {
        summary(&self.run)
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

fn summary(histogram: &Histogram<u64>) -> Latency {
    if histogram.is_empty() {
        return Latency::default();
    }
    let quantile = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    Latency {
        count: histogram.len(),
        mean: histogram.mean() / 1e3,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: histogram.max() as f64 / 1e3,
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A day; what is longer counts as a day.
const LONGEST_US: u64 = 86_400_000_000;
const DIGITS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Surface;
    use crate::shape::Shaped;
    use serde_json::json;

    #[test]
    fn latencies_are_summed_up_in_milliseconds() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.wait(), Latency::default());
        for milliseconds in 1..=1000 {
            latencies.record_run(Duration::from_millis(milliseconds));
        }
        let run = latencies.run();
        assert_eq!(run.count, 1000);
        for (measured, exact) in [
            (run.mean, 500.5),
            (run.p50, 500.0),
            (run.p90, 900.0),
            (run.p99, 990.0),
            (run.p999, 999.0),
            (run.max, 1000.0),
        ] {
            assert!((measured - exact).abs() <= exact / 100.0, "{measured} is not {exact}");
        }
        assert_eq!(latencies.wait().count, 0, "waits and runs are kept apart");
    }

    #[test]
    fn no_duration_is_too_long_or_too_short() {
        let mut latencies = Latencies::new();
        latencies.record_wait(Duration::MAX);
        latencies.record_wait(Duration::ZERO);
        assert_eq!(latencies.wait().count, 2);
        assert!(latencies.wait().max >= 86_000_000.0);
    }

    #[test]
    fn stats_are_spelled_as_the_language_does() {
        let stats = Stats { queued_bytes: 7, details: vec![WorkerStats::default()], ..Stats::default() };
        let node = stats.to_value(Surface::Node);
        assert_eq!(node["queuedBytes"], json!(7));
        assert_eq!(node["recycled"], json!({"calls": 0, "memory": 0, "reload": 0, "age": 0}));
        assert_eq!(node["details"][0]["memory"], json!(null));
        assert_eq!(stats.to_value(Surface::Python)["queued_bytes"], json!(7));
        let call =
            CallInfo { id: 1, r#fn: "f".into(), state: CallState::Waiting, age: 2, worker: None, attempt: 0 };
        assert_eq!(call.to_value(Surface::Node)["state"], json!("waiting"));
    }
}
