//! The laws of workers: starts and replacements, health, idleness, ends.

use ganger_scheduler::{CallId, KillCause, PoolPhase, RecycleReason, Timestamp, WorkerId};

use super::call::Place;
use super::calls::is_death_of;
use super::worker::{Phase, Worker};
use super::{Broken, Observer, Step, Verdict, law};

impl Observer {
    /// Whether a worker starts to take the place of one that serves.
    pub(super) fn is_replacement(&self, worker: &Worker) -> bool {
        let serves = |old: &WorkerId| self.workers.get(old).is_some_and(|old| old.phase == Phase::Ready);
        worker.phase == Phase::Starting && worker.replaces.as_ref().is_some_and(serves)
    }

    /// The pool's own workers, without those that start to replace another.
    pub(super) fn lasting(&self) -> usize {
        let lasts = |worker: &&Worker| worker.own && worker.is_alive() && !self.is_replacement(worker);
        self.workers.values().filter(lasts).count()
    }

    /// A worker becomes ready; the one that it replaces serves no more. False if it was not starting.
    pub(super) fn hear_ready(&mut self, now: Timestamp, id: WorkerId) -> bool {
        let Some(seen) = self.workers.get_mut(&id).filter(|seen| seen.phase == Phase::Starting) else {
            return false;
        };
        seen.phase = Phase::Ready;
        (seen.idle_since, seen.last_pong) = (now, now);
        if let Some(old) = seen.replaces.take() {
            for favourite in self.favourites.values_mut().filter(|favourite| **favourite == old) {
                *favourite = id;
            }
            if let Some(old) = self.workers.get_mut(&old).filter(|old| old.phase == Phase::Ready) {
                old.phase = Phase::Retiring { cold: false };
                self.recycled += 1;
            }
        }
        true
    }

    pub(super) fn hear_reload(&mut self) {
        for worker in self.workers.values_mut().filter(|worker| worker.own && worker.is_alive()) {
            worker.stale = true;
            worker.told = false;
        }
        self.memory_given_up = false;
    }

    pub(super) fn hear_sample(&mut self, id: WorkerId, memory: u64) -> bool {
        let least = self.config.max_memory.map(|limit| shortened(limit, self.config.jitter_percent));
        let Some(seen) = self.workers.get_mut(&id) else { return false };
        let over = least.is_some_and(|limit| memory > limit);
        if seen.phase == Phase::Starting || (seen.answered == 0 && seen.holds.is_empty()) {
            seen.over_from_birth = true;
        }
        seen.over_from_birth &= over;
        if seen.phase == Phase::Ready {
            seen.over = if over { seen.over + 1 } else { 0 };
            seen.too_much |= !self.memory_given_up && seen.over >= self.config.memory_samples;
        }
        true
    }

    pub(super) fn hear_pong(&mut self, now: Timestamp, id: WorkerId) -> bool {
        if let Some(seen) = self.workers.get_mut(&id) {
            seen.pinged_at = None;
            seen.last_pong = now;
        }
        false
    }

    /// Every call of the dead worker is lost, goes back or runs again, as its own rules say.
    pub(super) fn hear_exit(
        &mut self,
        step: &Step,
        id: WorkerId,
        unwritten: &[CallId],
        phase: PoolPhase,
    ) -> Result<bool, Broken> {
        let Some(mut worker) = self.workers.remove(&id) else { return Ok(false) };
        for (lying, settled) in std::mem::take(&mut worker.line).into_iter().filter(|(_, settled)| !settled) {
            let call = self.calls.get_mut(&lying).expect("what lies before a worker was submitted");
            call.lies_at = None;
            if unwritten.contains(&lying) {
                call.started = call.started_before;
            } else {
                call.attempts += 1;
                call.place = Place::At(id);
                worker.holds.insert(lying, (1, settled));
            }
        }
        for (&held, _) in worker.holds.iter().filter(|(_, (_, caller_is_settled))| !caller_is_settled) {
            let call = self.calls.get_mut(&held).expect("what a worker holds was submitted");
            let died = step.actions.iter().any(|action| is_death_of(action, held, id));
            let running = phase == PoolPhase::Running;
            let pinned = call.spec.pinned.is_some();
            let may_repeat = call.spec.idempotent && call.lost < call.spec.retries && running && !pinned;
            if unwritten.contains(&held) {
                call.attempts -= 1;
                call.started = call.started_before;
                call.place = if pinned { Place::Pinned } else { Place::Returned };
                law(died == pinned, || format!("{held} was never written; told of a death: {died}"))?;
            } else if may_repeat {
                call.lost += 1;
                call.started_before = call.started;
                call.place = Place::Returned;
                law(!died, || format!("{held} may run again and is told of a death"))?;
            } else {
                law(died, || format!("{held} must not run again and is not told of the death"))?;
            }
        }
        let orphans = self.calls.iter().filter(|(_, call)| call.place == Place::Pinned);
        for (&call, _) in orphans.filter(|(_, call)| call.spec.pinned == Some(id)) {
            let died = step.actions.iter().any(|action| is_death_of(action, call, id));
            law(died, || format!("{call} was for {id} alone and outlives it"))?;
        }
        Ok(true)
    }

    /// Nobody serves beside his replacement before that was told.
    pub(super) fn see_spawn(
        &mut self,
        now: Timestamp,
        worker: WorkerId,
        replaces: Option<WorkerId>,
    ) -> Verdict {
        let serving = replaces.and_then(|old| self.workers.get(&old)).filter(|old| old.phase == Phase::Ready);
        law(serving.is_none_or(|old| old.told), || format!("{replaces:?} is replaced without a word"))?;
        let goes = |seen: &&Worker| seen.makes_way;
        let going = self.workers.values().filter(goes).count();
        let most = self.config.max_replacing as usize;
        law(serving.is_none() || going < most, || format!("{worker} comes while {going} have yet to go"))?;
        self.see_worker(now, worker, true, replaces)
    }

    pub(super) fn see_worker(
        &mut self,
        now: Timestamp,
        worker: WorkerId,
        own: bool,
        replaces: Option<WorkerId>,
    ) -> Verdict {
        let seen = Worker::new(now, own, replaces);
        law(self.workers.insert(worker, seen).is_none(), || format!("{worker} is there already"))?;
        self.counters.started += u64::from(own);
        Ok(())
    }

    /// A replacement is announced for a good reason; the worker that is to go serves.
    pub(super) fn see_recycle(
        &mut self,
        now: Timestamp,
        id: WorkerId,
        reason: RecycleReason,
        cold: bool,
    ) -> Verdict {
        let jitter = self.config.jitter_percent;
        let seen = self.workers.get_mut(&id).ok_or_else(|| Broken(format!("{id} is gone")))?;
        law(seen.own && seen.phase == Phase::Ready, || format!("{id} is {:?} and recycled", seen.phase))?;
        let age = now.since(seen.born_at);
        let fair = match reason {
            RecycleReason::Calls => {
                self.config.max_calls.is_some_and(|limit| seen.answered >= shortened(limit, jitter))
            }
            RecycleReason::Age => {
                self.config.max_age.is_some_and(|limit| age >= limit * (100 - jitter) / 100)
            }
            RecycleReason::Memory => seen.too_much,
            RecycleReason::Reload => seen.stale,
        };
        law(fair, || format!("{id} is recycled for its {reason:?} too early"))?;
        let twice = std::mem::replace(&mut seen.told, true);
        law(!twice || cold, || format!("it is told twice that {id} is recycled"))?;
        if cold {
            seen.phase = Phase::Retiring { cold };
            self.recycled += 1;
        }
        Ok(())
    }

    pub(super) fn see_memory_floor(&mut self, id: WorkerId) -> Verdict {
        let twice = std::mem::replace(&mut self.memory_given_up, true);
        law(!twice, || "memory is given up twice".into())?;
        let seen = self.workers.get(&id).ok_or_else(|| Broken(format!("{id} is gone")))?;
        law(!seen.stale && seen.over_from_birth && seen.over >= self.config.memory_samples, || {
            format!("{id} is not above by itself")
        })
    }

    /// Only who is ready and has nothing to do is asked whether he lives.
    pub(super) fn see_ping(&mut self, now: Timestamp, id: WorkerId) -> Verdict {
        let kept = self.kept_for_pinned().contains(&id);
        let seen = self.workers.get_mut(&id).ok_or_else(|| Broken(format!("{id} is gone")))?;
        let idle = seen.phase == Phase::Ready && seen.holds.is_empty() && !kept;
        law(idle, || format!("{id} is pinged at work"))?;
        let long_enough =
            self.config.health_interval.is_some_and(|interval| now.since(seen.idle_since) >= interval);
        let twice = seen.pinged_at.replace(now).is_some();
        law(long_enough && !twice, || format!("{id} is pinged too soon"))
    }

    /// A worker is stopped when it has nothing, and only because it was replaced, the pool ends, or it idled too long.
    pub(super) fn see_stop(&mut self, now: Timestamp, id: WorkerId, pool: PoolPhase) -> Verdict {
        let kept = self.kept_for_pinned().contains(&id);
        let replaced = self.workers.values().any(|worker| {
            worker.phase == Phase::Starting && worker.replaces == Some(id) && pool < PoolPhase::Ending
        });
        let lasting = self.lasting();
        let seen = self.workers.get_mut(&id).ok_or_else(|| Broken(format!("{id} is gone")))?;
        law(seen.holds.is_empty() && !kept, || format!("{id} is stopped at work"))?;
        let cold = seen.leaves_cold();
        let before = std::mem::replace(&mut seen.phase, Phase::Stopping { cold });
        let retires = matches!(before, Phase::Retiring { .. });
        law(before == Phase::Ready || retires, || format!("{id} is stopped and was {before:?}"))?;
        law(!replaced, || format!("{id} goes before its replacement is ready"))?;
        seen.makes_way = retires && !cold;
        if retires || pool >= PoolPhase::Ending {
            return Ok(());
        }
        let idle = self.config.idle_timeout.is_some_and(|timeout| now.since(seen.idle_since) >= timeout);
        law(idle && seen.own, || format!("{id} is stopped for no reason"))?;
        let least = self.config.min_workers as usize;
        law(lasting > least, || format!("{id} is stopped, and {least} should stay"))
    }

    pub(super) fn see_kill(&mut self, now: Timestamp, id: WorkerId, cause: KillCause) -> Verdict {
        let kept = self.kept_for_pinned().contains(&id);
        let seen = self.workers.get_mut(&id).ok_or_else(|| Broken(format!("{id} is gone")))?;
        let cold = seen.leaves_cold();
        let before = std::mem::replace(&mut seen.phase, Phase::Killed { cold });
        law(!matches!(before, Phase::Killed { .. }), || format!("{id} is killed twice"))?;
        let fair = match cause {
            KillCause::Unresponsive => {
                let silent = |at| now.since(at) >= self.config.health_timeout;
                let idle = before == Phase::Ready && seen.holds.is_empty() && !kept;
                idle && seen.pinged_at.is_some_and(silent)
            }
            KillCause::StartTimeout => before == Phase::Starting,
            KillCause::CancelKill { culprit } => {
                seen.holds.get(&culprit).is_some_and(|&(_, settled)| settled)
            }
            KillCause::Close | KillCause::Protocol => true,
        };
        law(fair, || format!("{id} was {before:?} and is killed: {cause:?}"))
    }
}

fn shortened(limit: u64, jitter_percent: u32) -> u64 {
    // A worker serves one call at least.
    (limit * u64::from(100 - jitter_percent) / 100).max(1)
}
