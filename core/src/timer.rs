//! The one clock of a pool: sleeps until the scheduler wants to be told the time. An idle pool has nothing to sleep for and
//! never wakes.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ganger_scheduler::Timestamp;
use tokio::sync::Notify;

use crate::shared::Shared;

/// Nothing to wake for.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Timer {
    began: Instant,
    /// When the task wakes next, in nanoseconds since `began`.
    wakes_at: AtomicU64,
    moved: Notify,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), wakes_at: AtomicU64::new(NEVER), moved: Notify::new() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_elapsed(self.began.elapsed())
    }

    /// Wakes the task earlier if `next` is earlier than what it sleeps for. A later moment is left to the wake-up that
    /// comes anyway: moving the clock for every settled call would cost more than one wake-up too many.
    pub(crate) fn arm(&self, next: Option<Timestamp>) {
        let next = next.map_or(NEVER, |at| u64::try_from(at.elapsed().as_nanos()).unwrap_or(NEVER));
        if next < self.wakes_at.fetch_min(next, Ordering::AcqRel) {
            self.moved.notify_one();
        }
    }

    /// Has the task look whether the pool is still there.
    pub(crate) fn ring(&self) {
        self.moved.notify_one();
    }

    /// Runs until the pool is gone.
    pub(crate) async fn run(pool: Weak<Shared>) {
        loop {
            let Some(shared) = pool.upgrade() else { return };
            let timer = shared.timer_handle();
            drop(shared);
            if !timer.sleep().await {
                continue;
            }
            let Some(shared) = pool.upgrade() else { return };
            timer.wakes_at.store(NEVER, Ordering::Release);
            shared.clock_struck();
        }
    }

    /// True when the time has come, false when it has moved.
    async fn sleep(&self) -> bool {
        let at = self.wakes_at.load(Ordering::Acquire);
        if at == NEVER {
            self.moved.notified().await;
            return false;
        }
        let until = self.began + Duration::from_nanos(at);
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => true,
            () = self.moved.notified() => false,
        }
    }
}
