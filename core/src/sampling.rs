//! Watches the memory of workers that may be replaced, for as long as the pool lives. A pool that replaces none is not watched.

use std::sync::{PoisonError, Weak};
use std::time::Duration;

use ganger_scheduler::{Input as News, WorkerId};

use crate::options::PoolOptions;
use crate::sampler::{self, Memory};
use crate::shared::Shared;

/// With a limit on memory.
const CLOSELY: Duration = Duration::from_secs(1);
/// Without one, to know whether two workers fit when one is replaced for something else, and for the report of a death.
const NOW_AND_THEN: Duration = Duration::from_secs(5);

/// How often workers are looked at, if at all.
pub(crate) fn interval(options: &PoolOptions) -> Option<Duration> {
    let replaced = options.max_calls.is_some() || options.max_age.is_some() || options.watch.is_some();
    match (options.max_memory.or(options.memory_limit), replaced) {
        (Some(_), _) => Some(CLOSELY),
        (None, true) => Some(NOW_AND_THEN),
        (None, false) => None,
    }
}

/// So many looks without a call between them show all that calls have left: enough for a worker to be found too large.
const LAST_LOOKS: u32 = 4;

/// Runs until the pool is gone. Reading takes milliseconds, so it happens beside the IO thread. Once no call is made any more nobody
/// is woken.
pub(crate) async fn run(pool: Weak<Shared>, interval: Duration) {
    let (mut calls, mut looks) = (0, 0);
    loop {
        tokio::time::sleep(interval).await;
        let Some(shared) = pool.upgrade() else { return };
        if tokio::task::spawn_blocking(move || shared.sample()).await.is_err() {
            return;
        }
        let Some(shared) = pool.upgrade() else { return };
        let before = std::mem::replace(&mut calls, shared.books().calls_made());
        looks = if calls == before { looks + 1 } else { 0 };
        if looks >= LAST_LOOKS {
            let next_call = shared.books().next_call_after(calls);
            drop(shared);
            // An error: the pool is gone, as the next look finds.
            let _ = next_call.await;
            looks = 0;
        }
    }
}

impl Shared {
    /// Takes milliseconds: not for the IO thread.
    pub(crate) fn sample(&self) {
        let crew: Vec<(WorkerId, u32)> = {
            let books = self.books();
            books.crew.iter().filter_map(|(worker, member)| Some((*worker, member.pid()?))).collect()
        };
        let pids: Vec<u32> = crew.iter().map(|(_, pid)| *pid).collect();
        let mut samples = Vec::with_capacity(crew.len());
        {
            let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = sampler.sample(&pids);
            for ((worker, pid), memory) in crew.into_iter().zip(seen) {
                let Some(memory) = memory else { continue };
                samples.push((worker, self.confirmed(memory, || sampler.confirm(pid)), memory));
            }
        }
        let headroom = sampler::headroom();
        self.step(|books, now, aftermath| {
            books.tell(now, News::Headroom { memory: headroom }, aftermath);
            for (worker, bytes, memory) in samples {
                books.note_memory(worker, bytes, memory);
                books.tell(now, News::Sample { worker, memory: bytes }, aftermath);
            }
        });
    }

    /// What a worker uses before its first call, if it may be replaced: one that begins above a limit would be replaced for ever, and
    /// one that is replaced before the next look must be known to fit twice. Microseconds for one young process, so that it may be
    /// asked on the IO thread.
    pub(crate) fn memory_at_start(&self, pid: u32) -> Option<Memory> {
        interval(&self.options)?;
        let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
        sampler.sample(&[pid]).first().copied().flatten()
    }

    /// Processes of one tree may share pages that each counts: asked more closely before it counts as too much.
    fn confirmed(&self, memory: Memory, confirm: impl FnOnce() -> Option<u64>) -> u64 {
        let bytes = memory.private_bytes();
        let over = self.options.max_memory.is_some_and(|limit| bytes > limit / 100 * 90);
        if over && memory.processes > 1 { confirm().unwrap_or(bytes) } else { bytes }
    }
}
