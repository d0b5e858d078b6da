//! Workers are replaced before they hurt: the replacement is ready first, then the old one finishes what it has and leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Scheduler;
use crate::backoff::{BadStart, ForeignKills};
use crate::event::Event;
use crate::id::WorkerId;
use crate::recycle::{Marked, MemoryVerdict, RecycleReason};
use crate::timers::TimerKey;
use crate::worker::{Leaving, Origin, Phase, Worker};

/// After a replacement could not start, so long no other is tried.
const PAUSE: Duration = Duration::from_secs(60);
/// So many replacements in a row may be killed by somebody else while they start before there is a pause.
const FOREIGN_KILLS_FORGIVEN: u32 = 20;

/// Who is to be replaced, and what stands in the way.
#[derive(Debug, Default)]
pub(super) struct Recycling {
    /// Workers to be replaced that have no replacement under way.
    due: BTreeSet<WorkerId>,
    /// Workers that serve until their replacement is ready, each with its replacement.
    under_way: BTreeMap<WorkerId, WorkerId>,
    /// Workers that left, or leave, before their replacement starts, until that is ready.
    cold: BTreeSet<WorkerId>,
    /// Memory left for more workers, if known.
    pub(super) headroom: Option<u64>,
    /// A worker was over the memory limit before it had run a call: more workers would only be so too.
    memory_given_up: bool,
    /// Replacements in a row that somebody else killed while they started.
    foreign_kills: ForeignKills,
    /// Observers know that replacements do not start.
    told_of_failure: bool,
}

impl Recycling {
    /// The worker is lost without having been replaced. True if a replacement is starting, which now is a worker like any other.
    fn lost(&mut self, worker: WorkerId) -> bool {
        self.due.remove(&worker);
        self.under_way.remove(&worker).is_some()
    }

    /// What was held against replacements that did not start counts no more.
    fn forget_failures(&mut self) {
        self.foreign_kills = ForeignKills::default();
        self.told_of_failure = false;
    }
}

impl Scheduler {
    pub(super) fn answered_enough(&mut self, id: WorkerId) {
        let enough = |worker: &Worker| worker.limits.calls.is_some_and(|limit| worker.answered >= limit);
        if self.roster.worker(id).is_some_and(enough) {
            self.recycle(id, RecycleReason::Calls);
        }
    }

    pub(super) fn too_old(&mut self, id: WorkerId) {
        self.recycle(id, RecycleReason::Age);
    }

    pub(super) fn sample(&mut self, id: WorkerId, memory: u64) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        worker.memory = Some(memory);
        let fresh = worker.answered == 0 && worker.has_nothing();
        if fresh && (worker.is_ready() || worker.phase == Phase::Starting) {
            worker.limits.note_at_birth(memory);
        }
        // One that is to be replaced anyway says nothing about those that come: they may run other code.
        if !worker.is_ready() || worker.recycle.is_some() {
            return;
        }
        let verdict = worker.limits.judge(memory, self.config.memory_samples);
        if self.recycling.memory_given_up {
            return;
        }
        match verdict {
            MemoryVerdict::Fine | MemoryVerdict::Over => {}
            MemoryVerdict::TooMuch if worker.limits.is_over_from_birth() => {
                self.recycling.memory_given_up = true;
                self.emit(Event::MemoryFloor { worker: id, memory });
            }
            MemoryVerdict::TooMuch => self.recycle(id, RecycleReason::Memory),
        }
    }

    /// Every worker that may run the old code is to be replaced, one that is already to be, too. What was held against the old code
    /// is forgotten: a change is what a replacement that could not start waited for.
    pub(super) fn reload(&mut self) {
        if !self.phase.accepts_calls() {
            return;
        }
        self.timers.clear(TimerKey::RecyclePause);
        self.recycling.forget_failures();
        self.recycling.memory_given_up = false;
        let stale: Vec<WorkerId> =
            self.roster.iter().filter(|worker| may_be_stale(worker)).map(|worker| worker.id).collect();
        for &id in &stale {
            if let Some(worker) = self.roster.worker_mut(id) {
                worker.recycle = Some(Marked::anew(RecycleReason::Reload));
            }
            if self.roster.worker(id).is_some_and(Worker::is_ready)
                && !self.recycling.under_way.contains_key(&id)
            {
                self.recycling.due.insert(id);
            }
        }
        self.emit(Event::Reload { replaced: stale.len() });
    }

    /// Begins as many replacements as may be under way at once.
    pub(super) fn replace_due_workers(&mut self) {
        let paused = self.timers.is_set(TimerKey::RecyclePause) || !self.backoff.allows(self.now);
        if self.recycling.due.is_empty() || !self.phase.accepts_calls() || paused {
            return;
        }
        while self.replacing() < self.config.max_replacing as usize {
            let Some(id) = self.recycling.due.pop_first() else { return };
            self.replace(id);
        }
    }

    /// A worker is ready. If it takes the place of another, that one leaves when its last call ends.
    pub(super) fn replacement_ready(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        let stale = worker.recycle.is_some();
        let old = worker.replaces.take();
        if let Some(old) = old {
            self.recycling.forget_failures();
            self.recycling.under_way.remove(&old);
            self.recycling.cold.remove(&old);
            self.affinity.inherit(old, id);
            self.retire(old, false);
        }
        // The code changed while it started.
        if stale {
            self.recycling.due.insert(id);
        }
    }

    /// A replacement died before it was ready. False if it was none any more: the worker it was to replace is gone.
    pub(super) fn replacement_failed(&mut self, id: WorkerId, old: WorkerId, how: Option<BadStart>) -> bool {
        if self.recycling.under_way.remove(&old).is_none() {
            return false;
        }
        let pauses = match how {
            None => false,
            Some(BadStart::KilledFromOutside { .. }) => {
                !self.recycling.foreign_kills.forgive(self.now, FOREIGN_KILLS_FORGIVEN)
            }
            Some(BadStart::Failed | BadStart::DiedAtWork) => true,
        };
        if pauses && self.phase.accepts_calls() {
            self.timers.set(TimerKey::RecyclePause, self.now.after(PAUSE));
            if !std::mem::replace(&mut self.recycling.told_of_failure, true) {
                self.emit(Event::ReplacementFailed { worker: old, replacement: id });
            }
        }
        self.recycling.due.insert(old);
        true
    }

    /// Workers that start to take the place of one that still serves.
    pub(super) fn replacements(&self) -> u32 {
        // One that was killed meanwhile is under way until it is gone, but is no worker any more.
        let starts =
            |id: &&WorkerId| self.roster.worker(**id).is_some_and(|worker| worker.phase == Phase::Starting);
        let count = self.recycling.under_way.values().filter(starts).count();
        u32::try_from(count).expect("bounded by an option of 32 bits")
    }

    /// Workers of the pool's own making that will be there when all replacing is done.
    pub(super) fn lasting_workers(&self) -> u32 {
        self.roster.own_alive().saturating_sub(self.replacements())
    }

    /// A worker ends, or is ended, that the pool goes on to want: the next to start takes its place, unless one does already.
    pub(super) fn vacate(&mut self, id: WorkerId) {
        let replacement_starts = self.recycling.lost(id);
        let Some(worker) = self.roster.worker(id) else { return };
        let wanted = worker.is_alive() || worker.holds_its_seat();
        // Whoever was killed has been here before.
        let first_time = !matches!(worker.phase, Phase::Killed { .. });
        if worker.origin == Origin::Attached || !wanted || !first_time || replacement_starts {
            return;
        }
        match worker.replaces {
            None => self.vacant.insert(id),
            // It never took over. The one whose place it would have taken serves on, or waits for the next.
            Some(old) => !self.recycling.under_way.contains_key(&old) && self.vacant.insert(old),
        };
    }

    pub(super) fn leave_if_retired(&mut self, id: WorkerId) {
        let Some(worker) = self.roster.worker(id) else { return };
        if let (Phase::Retiring { cold, .. }, true) = (worker.phase, worker.has_nothing()) {
            self.stop(id, Leaving::Recycled { cold });
        }
    }

    /// Replacements that cost a process more than the pool should have. Whoever was stopped counts until it is gone: its hooks may take
    /// seconds, and it keeps its memory meanwhile. Who has a call left does not, as that may take hours and others may leak.
    fn replacing(&self) -> usize {
        let stopped = self.roster.iter().filter(|worker| worker.outstays_its_replacement()).count();
        self.recycling.under_way.len() + self.recycling.cold.len() + stopped
    }

    fn recycle(&mut self, id: WorkerId, reason: RecycleReason) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        if worker.is_ready() && worker.recycle.is_none() && worker.origin == Origin::Spawned {
            worker.recycle = Some(Marked::anew(reason));
            self.recycling.due.insert(id);
        }
    }

    /// Warm if there is memory for both, else cold: the old one leaves first.
    fn replace(&mut self, id: WorkerId) {
        let Some(memory) = self.roster.worker(id).map(|worker| worker.memory) else { return };
        let cold = self.lacks_headroom_for(memory);
        self.tell_of_recycling(id, cold);
        if cold {
            self.recycling.cold.insert(id);
            return self.retire(id, true);
        }
        let replacement = self.spawn(Some(id));
        self.recycling.under_way.insert(id, replacement);
    }

    /// Once, but for one that goes cold after all.
    fn tell_of_recycling(&mut self, id: WorkerId, cold: bool) {
        let Some(worker) = self.roster.worker_mut(id) else { return };
        let Marked { reason, told } = worker.recycle.expect("it is due");
        worker.recycle = Some(Marked { reason, told: true });
        let (memory, calls) = (worker.memory, worker.answered);
        if cold || !told {
            self.emit(Event::WorkerRecycle { worker: id, reason, memory, calls, cold });
        }
    }

    /// Whether a replacement would not fit beside the worker, which uses so much, and beside the other replacements under way.
    fn lacks_headroom_for(&self, memory: Option<u64>) -> bool {
        let (Some(need), Some(left)) = (memory, self.recycling.headroom) else { return false };
        let pledged = self.recycling.under_way.keys().filter_map(|&old| self.roster.worker(old)?.memory);
        left < pledged.fold(need, u64::saturating_add)
    }

    fn retire(&mut self, id: WorkerId, cold: bool) {
        let Some(&Worker { phase: Phase::Ready { .. }, recycle: Some(Marked { reason, .. }), .. }) =
            self.roster.worker(id)
        else {
            return;
        };
        match reason {
            RecycleReason::Calls => self.counters.recycled_calls += 1,
            RecycleReason::Memory => self.counters.recycled_memory += 1,
            RecycleReason::Age => self.counters.recycled_age += 1,
            RecycleReason::Reload => self.counters.recycled_reload += 1,
        }
        self.roster.move_to(id, Phase::Retiring { reason, cold });
        self.placement.shut(id);
        self.take_all_back(id);
        self.list(id);
        self.clear_worker_clocks(id);
        self.leave_if_retired(id);
    }
}

/// Of our own making, and not leaving already.
fn may_be_stale(worker: &Worker) -> bool {
    worker.origin == Origin::Spawned && worker.is_alive()
}
