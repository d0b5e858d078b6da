//! The laws of calls that lie before busy workers: who gets them, in which order, and whose they are.

use ganger_scheduler::{CallId, Started, Timestamp, WorkerId};

use super::call::Place;
use super::worker::{Phase, Worker};
use super::{Broken, Observer, Verdict, law};

/// What a worker is left with when nobody takes anything back.
const LONGEST_LINE: usize = 16;

impl Worker {
    pub(super) fn has_before_it(&self, call: CallId) -> bool {
        self.line.iter().any(|&(lying, _)| lying == call)
    }
}

impl Observer {
    pub(super) fn hear_claims(&mut self, worker: WorkerId) -> bool {
        let Some(seen) = self.workers.get_mut(&worker) else { return false };
        seen.claims = true;
        false
    }

    /// Nobody is free who could have it, it is the first that waits, and its worker is busy with one call.
    pub(super) fn see_lie(&mut self, worker: WorkerId, id: CallId, attempt: u32) -> Verdict {
        let first = self.waiting().into_iter().find(|other| self.calls[other].lies_at.is_none());
        law(first == Some(id), || format!("{id} lies before {worker}, and {first:?} was first"))?;
        let free = self.workers.iter().find(|(_, seen)| seen.takes_calls() && seen.free(&self.config) > 0);
        law(free.is_none(), || {
            format!("{id} lies before {worker}, and {} is free", free.expect("just seen").0)
        })?;
        let pinned = self.kept_for_pinned().contains(&worker);
        let seen = self.workers.get_mut(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        let busy = seen.phase == Phase::Ready && seen.holds.len() == 1 && !seen.is_in_grace() && !pinned;
        law(seen.claims && busy, || format!("{id} lies before {worker}, which is {:?}", seen.phase))?;
        seen.line.push_back((id, false));
        law(seen.line.len() <= LONGEST_LINE, || format!("too many lie before {worker}"))?;
        let call = self.calls.get_mut(&id).expect("it waits");
        let (alone, next) = (!call.spec.ahead || call.spec.batch.as_deref().is_some_and(|it| it.max > 1), 1);
        law(!alone && call.lost == 0, || format!("{id} may not lie anywhere"))?;
        law(attempt == next && call.attempts == 0, || {
            format!("{id}: attempt {attempt} lies before {worker}")
        })?;
        call.lies_at = Some(worker);
        call.started = call.started.max(Started::Maybe);
        if let Some(key) = call.spec.affinity {
            let favourite = self.favourites.insert(key, worker);
            let lives = favourite.is_some_and(|other| other != worker && self.workers.contains_key(&other));
            law(!lives, || format!("{id} lies before {worker}, and {favourite:?} is its favourite"))?;
        }
        self.counters.handed_ahead += 1;
        Ok(())
    }

    /// In the order in which they were laid down, one at a time.
    pub(super) fn see_take_up(&mut self, now: Timestamp, worker: WorkerId, id: CallId) -> Verdict {
        let seen = self.workers.get_mut(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        law(seen.holds.is_empty(), || format!("{worker} takes up {id} while it is at another"))?;
        let first = seen.line.pop_front();
        law(first.is_some_and(|(first, _)| first == id), || {
            format!("{worker} takes up {id} before {first:?}")
        })?;
        let caller_is_settled = first.is_some_and(|(_, settled)| settled);
        seen.holds.insert(id, (1, caller_is_settled));
        seen.pinged_at = None;
        let Some(call) = self.calls.get_mut(&id) else {
            return law(caller_is_settled, || format!("{id} is unknown"));
        };
        call.lies_at = None;
        call.attempts += 1;
        call.assigned_at = now;
        call.timeout = call.spec.timeout;
        call.place = Place::At(worker);
        Ok(())
    }

    pub(super) fn see_take_back(&self, worker: WorkerId, most: usize) -> Verdict {
        let lying = self.workers.get(&worker).map_or(0, |seen| seen.line.len());
        law((1..=lying).contains(&most), || format!("{most} of {lying} are taken back from {worker}"))
    }

    pub(super) fn hear_taken_back(&mut self, worker: WorkerId, asked: usize, taken: usize) -> Verdict {
        let Some(seen) = self.workers.get_mut(&worker) else { return Ok(()) };
        law(taken <= asked && taken <= seen.line.len(), || format!("{taken} of {asked} are taken back"))?;
        let kept = seen.line.len() - taken;
        for (id, _) in seen.line.split_off(kept) {
            let call = self.calls.get_mut(&id).ok_or_else(|| Broken(format!("{id} came back settled")))?;
            call.lies_at = None;
            call.started = call.started_before;
            self.counters.taken_back += 1;
        }
        Ok(())
    }
}
