//! The laws of calls: admission, assignment, answers, settlement.

use ganger_scheduler::{
    Action, CallId, CallSpec, Declaration, Failure, PoolPhase, Settlement, Started, WhenFull, WorkerId,
};

use super::call::{Call, Place};
use super::worker::Phase;
use super::{Assigned, Broken, Observer, Step, Verdict, law};

impl Observer {
    pub(super) fn hear_submit(
        &mut self,
        step: &Step,
        id: CallId,
        spec: &CallSpec,
        phase: PoolPhase,
    ) -> Verdict {
        self.counters.submitted += 1;
        let most = self.config.concurrency;
        let spec = CallSpec { slots: if spec.exclusive { most } else { spec.slots }, ..spec.clone() };
        let has_room = self.lobby().next().is_none() && self.admits(&spec);
        let may_enter = phase == PoolPhase::Running && spec.slots <= most;
        let refusal = step.actions.iter().find_map(|action| failure_of(action, id));
        let place = match (spec.pinned, has_room, self.config.when_full) {
            (Some(_), ..) if refusal.is_none() => Place::Pinned,
            (Some(_), ..) => Place::Fresh,
            (None, true, _) | (None, false, WhenFull::Reject) => Place::Fresh,
            (None, false, WhenFull::Wait { .. }) => Place::Lobby,
        };
        match refusal {
            Some(Failure::QueueFull { .. }) => {
                let full = place == Place::Fresh && !has_room;
                let out_of_time = place == Place::Lobby;
                law(full || out_of_time, || format!("{id} was refused though there is room"))?;
            }
            Some(Failure::PoolClosed) => {
                law(phase != PoolPhase::Running, || format!("{id}: the pool is open"))?
            }
            Some(Failure::TooManySlots { .. }) => {
                law(spec.slots > most, || format!("{id}: its slots are not too many"))?;
            }
            Some(Failure::WorkerDied { worker, .. }) if spec.pinned == Some(*worker) => {
                let ready = self.workers.get(worker).is_some_and(|seen| seen.phase == Phase::Ready);
                law(!ready, || format!("{id}: its worker is there"))?;
            }
            // It was admitted and ended in the same step.
            Some(
                Failure::StartFailed
                | Failure::Cancelled
                | Failure::QueueTimeout { .. }
                | Failure::Timeout { .. }
                | Failure::DeadlineExceeded { .. }
                | Failure::WorkerDied { .. },
            ) => {}
            None => {
                let stays = may_enter && (has_room || place != Place::Fresh);
                law(stays, || format!("{id} should have been refused"))?;
            }
        }
        let call = Call::new(spec, step.at, place);
        let twice = self.settled.contains(&id) || self.calls.insert(id, call).is_some();
        law(!twice, || format!("{id} was submitted twice"))
    }

    /// False if it means nobody. What runs keeps its slots and its clock.
    pub(super) fn hear_declaration(&mut self, id: CallId, declaration: &Declaration) -> bool {
        let Some(call) = self.calls.get_mut(&id) else { return false };
        let runs = matches!(call.place, Place::At(_)) || call.lies_at.is_some();
        call.spec.exclusive |= declaration.exclusive;
        let exclusive = call.spec.exclusive.then_some(self.config.concurrency);
        call.spec.idempotent = declaration.idempotent;
        call.spec.timeout = declaration.timeout.or(call.spec.timeout);
        call.spec.batch = declaration.batch.map(Box::new);
        if let Some(slots) = exclusive.or(declaration.slots)
            && (!runs || slots <= self.config.concurrency)
        {
            call.spec.slots = slots;
        }
        true
    }

    pub(super) fn see_admitted(&mut self, id: CallId) -> Verdict {
        let first = self.lobby().next();
        law(first == Some(id), || format!("{id} is admitted before {first:?}"))?;
        let spec = self.calls[&id].spec.clone();
        law(self.admits(&spec), || format!("{id} is admitted and there is no room"))?;
        self.calls.get_mut(&id).expect("it was in the lobby a line ago").place = Place::Fresh;
        Ok(())
    }

    pub(super) fn see_assign(&mut self, assigned: &Assigned, id: CallId) -> Verdict {
        let &Assigned { at: now, worker, attempt, .. } = assigned;
        let pinned = self.calls.get(&id).is_some_and(|call| call.place == Place::Pinned);
        let first = self.see_party(assigned, id)?;
        if pinned {
            self.check_pinned(worker, id)?
        } else if first.is_none_or(|first| first == id) {
            self.check_turn(assigned, id)?
        }
        let call = self.calls.get_mut(&id).ok_or_else(|| Broken(format!("{id} is unknown")))?;
        let seen = self.workers.get_mut(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        let (slots, exclusive) = (call.spec.slots, call.spec.exclusive);
        let joins = first.is_some_and(|first| first != id);
        law(joins || seen.free(&self.config) >= slots, || format!("{worker} has no room for {id}"))?;
        call.attempts += 1;
        call.assigned_at = now;
        call.timeout = call.spec.timeout;
        let next = 1 + call.lost;
        law(attempt == call.attempts && attempt == next, || format!("{id}: attempt {attempt} is {next}"))?;
        seen.holds.insert(id, (slots, false));
        if let Some(first) = first {
            seen.together.insert(id, first);
        }
        seen.pinged_at = None;
        let alone = seen.holds.keys().all(|other| *other == id || seen.together.get(other) == first.as_ref());
        law(!exclusive || alone, || format!("{id} is not alone on {worker}"))?;
        call.place = Place::At(worker);
        call.started = call.started.max(Started::Maybe);
        if let Some(key) = call.spec.affinity {
            self.favourites.insert(key, worker);
        }
        Ok(())
    }

    /// It goes to its worker and no other, even if that one retires, and before the pinned ones behind it.
    fn check_pinned(&self, worker: WorkerId, id: CallId) -> Verdict {
        law(self.calls[&id].spec.pinned == Some(worker), || format!("{id} is not for {worker}"))?;
        let first = self
            .calls
            .iter()
            .find(|(_, call)| call.place == Place::Pinned && call.spec.pinned == Some(worker));
        law(first.is_some_and(|(&first, _)| first == id), || format!("{id} is not the first for {worker}"))?;
        let seen = self.workers.get(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        let serves = matches!(seen.phase, Phase::Ready | Phase::Retiring { .. }) && !seen.is_in_grace();
        law(serves, || format!("{worker} gets {id} and is {:?} or in grace", seen.phase))
    }

    /// It is its turn, and the worker's.
    fn check_turn(&self, &Assigned { at, worker, pool, .. }: &Assigned, id: CallId) -> Verdict {
        let call = self.calls.get(&id).ok_or_else(|| Broken(format!("{id} is unknown")))?;
        law(call.waits_in_queue(), || format!("{id} is assigned but does not wait"))?;
        let seen = self.workers.get(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        law(seen.takes_calls(), || format!("{worker} gets {id} and is {:?} or in grace", seen.phase))?;
        let kept = self.kept_for_pinned();
        law(!kept.contains(&worker), || format!("{worker} gets {id} before a call that is for it alone"))?;
        let slots = call.spec.slots;
        let waiting = self.waiting();
        // Those that lie somewhere have been taken care of.
        let lies = |id: &CallId| self.calls[id].lies_at.is_some();
        let mut passed_over =
            waiting.iter().take_while(|&&better| better != id).filter(|better| !lies(better));
        let wronged = passed_over
            .find(|&&better| self.calls[&better].spec.slots <= slots && !self.gathers(better, at, pool));
        law(wronged.is_none(), || format!("{id} is assigned before {}", wronged.expect("just seen")))?;
        let favourite = call.spec.affinity.and_then(|key| self.favourites.get(&key)).filter(|favourite| {
            let has_room = |seen: &super::Worker| seen.takes_calls() && seen.free(&self.config) >= slots;
            self.workers.get(favourite).is_some_and(has_room) && !kept.contains(favourite)
        });
        let spurned = waiting.first() == Some(&id) && favourite.is_some_and(|&favourite| favourite != worker);
        law(!spurned, || format!("{id} goes to {worker}, and {favourite:?} had room"))
    }

    pub(super) fn hear_answer(&mut self, step: &Step, worker: WorkerId, id: CallId) -> Result<bool, Broken> {
        let seen = self.workers.get_mut(&worker);
        let held = seen.and_then(|seen| {
            let held = seen.holds.remove(&id)?;
            seen.together.remove(&id);
            seen.answered += 1;
            seen.idle_since = step.at;
            Some(held)
        });
        let first = step.actions.iter().find(|action| !matches!(action, Action::Emit(_)));
        let settles = first.is_some_and(|action| {
            matches!(action, Action::Settle { call, settlement: Settlement::Answered { .. } } if *call == id)
        });
        let should = held.is_some_and(|(_, caller_is_settled)| !caller_is_settled);
        law(settles == should, || {
            format!("{worker} answered {id}, settled by it before all else: {settles}, should be: {should}")
        })?;
        Ok(held.is_some())
    }

    pub(super) fn see_settle(&mut self, step: &Step, id: CallId, settlement: &Settlement) -> Verdict {
        law(self.settled.insert(id), || format!("{id} is settled twice"))?;
        let call = self.calls.remove(&id).ok_or_else(|| Broken(format!("{id} is unknown")))?;
        if let Settlement::Failed { failure, .. } = settlement {
            call.check_clock(step.at, id, failure)?;
        }
        if let Place::At(worker) = call.place
            && let Some(seen) = self.workers.get_mut(&worker)
            && let Some((_, caller_is_settled)) = seen.holds.get_mut(&id)
        {
            *caller_is_settled = true;
        }
        if let Some(worker) = call.lies_at
            && let Some(seen) = self.workers.get_mut(&worker)
            && let Some((_, caller_is_settled)) = seen.line.iter_mut().find(|(lying, _)| *lying == id)
        {
            *caller_is_settled = true;
        }
        if let (Place::Pinned, Some(worker)) = (call.place, call.spec.pinned)
            && let Some(seen) = self.workers.get_mut(&worker)
            && seen.holds.is_empty()
        {
            seen.idle_since = step.at;
        }
        let told = match settlement {
            Settlement::Answered { attempts } => {
                self.counters.answered += 1;
                *attempts
            }
            Settlement::Failed { failure, started, attempts } => {
                let cancelled = *failure == Failure::Cancelled;
                self.counters.cancelled += u64::from(cancelled);
                self.counters.failed += u64::from(!cancelled);
                law(*started == call.started, || {
                    format!("{id}: started {started:?}, it was {:?}", call.started)
                })?;
                *attempts
            }
        };
        law(told == call.attempts, || format!("{id}: {told} attempts, there were {}", call.attempts))?;
        let age = step.at.since(call.submitted_at);
        law(call.spec.deadline.is_none_or(|deadline| age <= deadline), || {
            format!("{id} outlived its deadline")
        })
    }
}

pub(super) fn is_death_of(action: &Action, call: CallId, worker: WorkerId) -> bool {
    failure_of(action, call)
        .is_some_and(|failure| matches!(failure, Failure::WorkerDied { worker: dead, .. } if *dead == worker))
}

fn failure_of(action: &Action, id: CallId) -> Option<&Failure> {
    let Action::Settle { call, settlement: Settlement::Failed { failure, .. } } = action else { return None };
    (*call == id).then_some(failure)
}
