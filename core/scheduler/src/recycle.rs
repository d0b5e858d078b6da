//! When a worker has served long enough.

use std::time::Duration;

use crate::config::Config;
use crate::id::WorkerId;

/// Why a worker is replaced on purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RecycleReason {
    /// It has answered enough calls.
    Calls,
    /// It uses too much memory.
    Memory,
    /// It has lived long enough.
    Age,
    /// Its code has changed.
    Reload,
}

/// A worker is to be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marked {
    pub(crate) reason: RecycleReason,
    /// Observers know. They are told once, however often the replacement has to be tried.
    pub(crate) told: bool,
}

impl Marked {
    pub(crate) fn anew(reason: RecycleReason) -> Self {
        Self { reason, told: false }
    }
}

/// One worker's own limits: the pool's, each moved a little, so that workers that began together do not expire together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) calls: Option<u64>,
    pub(crate) age: Option<Duration>,
    memory: Option<u64>,
    /// Samples over the limit in a row.
    over: u32,
    /// It was over the limit before its first call, and never below it since; none: not known yet.
    over_from_birth: Option<bool>,
}

/// What a sample of memory says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryVerdict {
    Fine,
    /// Over the limit, not yet often enough.
    Over,
    TooMuch,
}

impl Limits {
    pub(crate) fn new(config: &Config, worker: WorkerId) -> Self {
        let seat = u64::from(worker.index) << 32 | u64::from(worker.generation);
        let moved = |limit: u64, which: u64| {
            let width = 2 * u64::from(config.jitter_percent) + 1;
            let noise = splitmix(config.seed ^ splitmix(seat ^ which << 62)) % width;
            let percent = 100 + noise - u64::from(config.jitter_percent);
            u64::try_from(u128::from(limit) * u128::from(percent) / 100).unwrap_or(u64::MAX)
        };
        let age = config.max_age.map(|age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        Self {
            // Fewer than one call would never let a worker serve.
            calls: config.max_calls.map(|calls| moved(calls, 0).max(1)),
            age: age.map(|nanoseconds| Duration::from_nanos(moved(nanoseconds, 1))),
            memory: config.max_memory.map(|bytes| moved(bytes, 2)),
            over: 0,
            over_from_birth: None,
        }
    }

    /// A sample of a worker that has not had a call yet. It may use more while it starts than ever again: the latest counts.
    pub(crate) fn note_at_birth(&mut self, bytes: u64) {
        self.over_from_birth = Some(self.memory.is_some_and(|limit| bytes > limit));
    }

    /// Whether another worker would be over the limit just as well.
    pub(crate) fn is_over_from_birth(&self) -> bool {
        self.over_from_birth == Some(true)
    }

    pub(crate) fn judge(&mut self, bytes: u64, samples: u32) -> MemoryVerdict {
        if self.memory.is_none_or(|limit| bytes <= limit) {
            self.over = 0;
            self.over_from_birth = Some(false);
            return MemoryVerdict::Fine;
        }
        self.over += 1;
        if self.over >= samples { MemoryVerdict::TooMuch } else { MemoryVerdict::Over }
    }
}

/// Vigna's splitmix64: every bit of the input moves every bit of the output.
fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(jitter_percent: u32, index: u32) -> Limits {
        let config = Config {
            max_calls: Some(1_000),
            max_age: Some(Duration::from_secs(1_000)),
            max_memory: Some(1_000),
            jitter_percent,
            ..Config::default()
        };
        Limits::new(&config, WorkerId { index, generation: 0 })
    }

    #[test]
    fn jitter_spreads_within_its_bounds_and_never_differs_for_the_same_worker() {
        let calls: Vec<u64> = (0..100).map(|index| limits(10, index).calls.unwrap()).collect();
        assert!(calls.iter().all(|calls| (900..=1_100).contains(calls)), "{calls:?}");
        let mut distinct = calls.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 10, "{distinct:?}");
        assert_eq!(limits(10, 7).calls, limits(10, 7).calls);
        assert_eq!(limits(0, 7).calls, Some(1_000));
        assert_eq!(limits(0, 7).age, Some(Duration::from_secs(1_000)));
    }

    #[test]
    fn one_sample_over_the_limit_is_a_spike() {
        let mut limits = limits(0, 0);
        assert_eq!(limits.judge(1_001, 2), MemoryVerdict::Over);
        assert_eq!(limits.judge(1_000, 2), MemoryVerdict::Fine);
        assert_eq!(limits.judge(1_001, 2), MemoryVerdict::Over);
        assert_eq!(limits.judge(1_001, 2), MemoryVerdict::TooMuch);
    }
}
