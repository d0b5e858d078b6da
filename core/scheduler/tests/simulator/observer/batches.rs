//! The laws of batches: whole, of one kind, no larger than allowed, and nobody waits for others longer than he must.

use ganger_scheduler::{Batch, CallId, HandedTogether, PoolPhase, Timestamp, WorkerId};

use super::{Broken, Observer, Verdict, law};

/// One call goes to a worker.
pub(super) struct Assigned {
    pub(super) at: Timestamp,
    pub(super) worker: WorkerId,
    pub(super) attempt: u32,
    pub(super) batch: Option<HandedTogether>,
    pub(super) pool: PoolPhase,
}

/// A batch of which so many calls were handed over.
pub(super) struct Party {
    first: CallId,
    worker: WorkerId,
    batch: (u64, u32),
    slots: u32,
    handed: u32,
    count: u32,
}

impl Observer {
    /// The first call of the batch that this one is handed over with, if it is.
    pub(super) fn see_party(&mut self, assigned: &Assigned, id: CallId) -> Result<Option<CallId>, Broken> {
        let call = self.calls.get(&id).ok_or_else(|| Broken(format!("{id} is unknown")))?;
        let Some(HandedTogether { nth, count }) = assigned.batch else {
            return self.check_party_is_whole().map(|()| None);
        };
        let slots = call.spec.slots;
        let Batch { key, max, .. } = call
            .spec
            .batch
            .as_deref()
            .copied()
            .ok_or_else(|| Broken(format!("{id} goes by itself and is in a batch")))?;
        let alone = call.lost > 0 || call.spec.pinned.is_some();
        law(!alone && (2..=max).contains(&count), || format!("{id} is in a batch of {count}"))?;
        if nth == 0 {
            self.check_party_is_whole()?;
            let worker = assigned.worker;
            self.counters.batches += 1;
            self.party = Some(Party { first: id, worker, batch: (key, max), slots, handed: 0, count });
        }
        let Some(party) = &mut self.party else { return Err(Broken(format!("{id} joins no batch"))) };
        let mates = (party.worker, party.batch, party.slots, party.handed, party.count);
        law(mates == (assigned.worker, (key, max), slots, nth, count), || {
            format!("{id} is in the wrong batch")
        })?;
        party.handed += 1;
        self.counters.batched += 1;
        Ok(Some(party.first))
    }

    pub(super) fn check_party_is_whole(&mut self) -> Verdict {
        let broken = self.party.take().filter(|party| party.handed != party.count);
        law(broken.is_none(), || "a batch is not handed over in one go".into())
    }

    /// Whether a call that waits may wait for others though there is room for it.
    pub(super) fn gathers(&self, id: CallId, now: Timestamp, pool: PoolPhase) -> bool {
        let call = &self.calls[&id];
        let Some(batch) = call.spec.batch.as_deref().copied().filter(|batch| batch.max > 1) else {
            return false;
        };
        let kind = |batch: Batch, slots| (batch.key, batch.max, slots);
        let mates: Vec<_> = self
            .calls
            .values()
            .filter(|mate| mate.waits_in_queue() && mate.lost == 0)
            .filter(|mate| {
                mate.spec
                    .batch
                    .as_deref()
                    .is_some_and(|&other| kind(other, mate.spec.slots) == kind(batch, call.spec.slots))
            })
            .collect();
        // Some of them may have a place elsewhere.
        let full = mates.len() >= batch.max as usize && mates.iter().all(|mate| mate.spec.affinity.is_none());
        let patient = now < call.submitted_at.after(batch.wait);
        call.lost == 0 && !full && patient && pool == PoolPhase::Running
    }
}
