//! Calls that are handed over together: who goes with whom, and how long they wait for others.

use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use crate::call::Call;
use crate::id::{CallId, WorkerId};
use crate::queue::Herd;
use crate::time::Timestamp;
use crate::timers::TimerKey;

/// Batches that are not full, have found room, and wait for more.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    holds: Vec<Hold>,
    calls: BTreeSet<CallId>,
}

/// The room that a batch has found.
#[derive(Clone, Copy, Debug)]
struct Hold {
    herd: Herd,
    worker: WorkerId,
    until: Timestamp,
}

impl Gathering {
    pub(super) fn hold(&mut self, party: Vec<CallId>, herd: Herd, worker: WorkerId, until: Timestamp) {
        self.holds.push(Hold { herd, worker, until });
        self.calls.extend(party);
    }

    pub(super) fn has(&self, call: CallId) -> bool {
        self.calls.contains(&call)
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.holds.iter().map(|hold| hold.worker)
    }

    pub(super) fn slots_at(&self, worker: WorkerId) -> u32 {
        self.holds.iter().filter(|hold| hold.worker == worker).map(|hold| hold.herd.slots).sum()
    }

    pub(super) fn slots(&self) -> u64 {
        self.holds.iter().map(|hold| u64::from(hold.herd.slots)).sum()
    }

    fn clocks(&self) -> BTreeMap<u64, Timestamp> {
        let mut clocks = BTreeMap::new();
        for hold in &self.holds {
            let until = clocks.entry(hold.herd.key).or_insert(hold.until);
            *until = hold.until.min(*until);
        }
        clocks
    }
}

impl Scheduler {
    /// The calls that go to a worker with `first`, itself included, best first and no more than a batch has.
    pub(super) fn party(
        &self,
        first: CallId,
        herd: Herd,
        worker: WorkerId,
        gathering: &Gathering,
    ) -> Vec<CallId> {
        let others = self.queue.herd(herd).filter(|&id| id != first && !gathering.has(id));
        let willing = others.filter(|id| self.goes_along(&self.calls[id], worker));
        std::iter::once(first).chain(willing).take(herd.max as usize).collect()
    }

    /// Until when so few calls wait for others. None: they go now.
    pub(super) fn waits_until(&self, party: &[CallId], herd: Herd) -> Option<Timestamp> {
        if party.len() >= herd.max as usize || !self.phase.accepts_calls() {
            return None;
        }
        let longest = |id: &CallId| {
            let call = &self.calls[id];
            call.spec.batch.as_deref().map(|batch| call.submitted_at.after(batch.wait))
        };
        party.iter().filter_map(longest).min().filter(|&until| until > self.now)
    }

    /// Clocks run for the batches that wait for more, and for no others.
    pub(super) fn go_on_gathering(&mut self, gathering: Gathering) {
        for hold in &self.gathering.holds {
            self.timers.clear(TimerKey::Batch(hold.herd.key));
        }
        for (key, until) in gathering.clocks() {
            self.timers.set(TimerKey::Batch(key), until);
        }
        self.gathering = gathering;
    }

    /// A call whose favourite worker is another, and has room, goes there.
    fn goes_along(&self, call: &Call, worker: WorkerId) -> bool {
        let favourite = call.spec.affinity.and_then(|key| self.affinity.worker(key));
        favourite.is_none_or(|other| other == worker || !self.placement.fits(other, call.spec.slots))
    }
}
