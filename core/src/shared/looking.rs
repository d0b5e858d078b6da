//! What people see who look at a pool.

use std::sync::PoisonError;
use std::time::Duration;

use ganger_scheduler::{Recording, WorkerView};

use super::books::Books;
use super::{Member, Shared};
use crate::sampler::Memory;
use crate::stats::{CallInfo, CallState, Recycled, SharedMemoryStats, Stats, WorkerStats};

impl Shared {
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.counted();
        let pids: Vec<u32> = stats.details.iter().filter_map(|worker| worker.pid).collect();
        // Reading memory takes its time: not under the lock that every call needs.
        let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = sampler.sample(&pids);
        let known = stats.details.iter_mut().filter(|worker| worker.pid.is_some());
        for (worker, sample) in known.zip(samples) {
            worker.memory = sample.map(Memory::private_bytes);
        }
        stats
    }

    /// All but memory.
    fn counted(&self) -> Stats {
        let now = self.now();
        let books = self.books();
        let view = books.scheduler.stats(now);
        let count = |test: fn(&WorkerView) -> bool| {
            u32::try_from(view.workers.iter().filter(|worker| test(worker)).count()).unwrap_or(u32::MAX)
        };
        Stats {
            pool: books.name(),
            workers: count(|_| true),
            ready: count(|worker| worker.ready),
            busy: count(|worker| worker.running > 0),
            starting: count(|worker| worker.starting),
            running: view.workers.iter().map(|worker| worker.running as u64).sum(),
            queued: view.queued as u64,
            queued_bytes: view.queued_bytes,
            submitted: view.counters.submitted,
            completed: books.tally.completed,
            failed: books.tally.failed,
            cancelled: books.tally.cancelled,
            retried: view.counters.retried,
            batches: view.counters.batches,
            batched: view.counters.batched,
            crashed: view.counters.crashed,
            recycled: Recycled {
                calls: view.counters.recycled_calls,
                memory: view.counters.recycled_memory,
                reload: view.counters.recycled_reload,
                age: view.counters.recycled_age,
            },
            unresponsive: view.counters.unresponsive,
            peak: books.tally.peak.clone(),
            shared_memory: self.shared_memory(),
            wait: books.latencies.wait(),
            run: books.latencies.run(),
            functions: books.tally.functions(),
            details: view.workers.iter().map(|worker| details(&books, worker)).collect(),
        }
    }

    fn shared_memory(&self) -> SharedMemoryStats {
        self.arena().map_or_else(SharedMemoryStats::default, |arena| SharedMemoryStats {
            size: arena.size() as u64,
            used: arena.used_bytes(),
            refused: arena.refused(),
        })
    }

    /// What the scheduler was told. Only the copy is made under the lock.
    pub(crate) fn recording(&self) -> Recording {
        let books = self.books();
        books.recorder.recording(books.scheduler.stats(self.now()).counters)
    }

    pub(crate) fn call_infos(&self) -> Vec<CallInfo> {
        let now = self.now();
        let books = self.books();
        let views = books.scheduler.calls(now);
        views
            .map(|view| CallInfo {
                id: view.call.0,
                r#fn: books
                    .calls
                    .get(&view.call)
                    .map(|pending| pending.call.function.to_string())
                    .unwrap_or_default(),
                state: if view.worker.is_some() { CallState::Running } else { CallState::Waiting },
                age: milliseconds(view.age),
                worker: view.worker.map(|worker| worker.index),
                attempt: view.attempts,
            })
            .collect()
    }
}

fn details(books: &Books, view: &WorkerView) -> WorkerStats {
    let member = books.crew.get(&view.worker);
    WorkerStats {
        index: view.worker.index,
        generation: view.worker.generation,
        pid: member.and_then(Member::pid),
        ready: view.ready,
        busy: view.running > 0,
        running: view.running as u64,
        calls: view.answered,
        memory: None,
        age: milliseconds(view.age),
        recycling: view.recycling,
        device: member.and_then(|member| member.device.as_deref().map(str::to_owned)),
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
