//! Many histories at once, on every processor; the first seed that breaks a law ends the run.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::commands::Story;
use super::shrink;

/// A history that kept no law.
#[derive(Debug)]
pub(super) struct FailedSeed(pub(super) u64);

/// The steps of all of them together.
pub(super) fn play_all(seeds: Range<u64>) -> Result<usize, FailedSeed> {
    let (next, failed, steps) = (AtomicU64::new(seeds.start), AtomicU64::new(u64::MAX), AtomicUsize::new(0));
    let player = || {
        while failed.load(Ordering::Relaxed) == u64::MAX {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            match shrink::tried(&Story::from_seed(seed)) {
                Ok(seen) => drop(steps.fetch_add(seen, Ordering::Relaxed)),
                Err(_) => drop(failed.fetch_min(seed, Ordering::Relaxed)),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(player);
        }
    });
    match failed.into_inner() {
        u64::MAX => Ok(steps.into_inner()),
        seed => Err(FailedSeed(seed)),
    }
}
