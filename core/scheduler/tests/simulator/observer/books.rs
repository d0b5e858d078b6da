//! What must hold between steps, whatever happened.

use std::time::Duration;

use ganger_scheduler::{Counters, PoolPhase, Scheduler, Timestamp};

use super::call::Call;
use super::worker::{Phase, Worker};
use super::{Observer, Verdict, law};

/// DESIGN 4.2: starts that fail back off to this at most.
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);
/// What the world takes to carry out a kill, with something to spare.
const KILLS_TAKE: Duration = Duration::from_millis(5);
/// A worker that is busy when the clock strikes is looked at again no sooner.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);

impl Observer {
    pub(super) fn check_forsaken(&self, now: Timestamp) -> Verdict {
        let forsaken_for = self.forsaken_since.map(|since| now.since(since));
        law(forsaken_for.is_none_or(|span| span <= LONGEST_BACKOFF + KILLS_TAKE), || {
            "calls wait and nobody is started".into()
        })
    }

    pub(super) fn note_forsaken(&mut self, now: Timestamp) {
        // Who leaves cold makes room for the next and takes his time; whoever retires may yet die and put the next start off.
        let counts = |worker: &Worker| {
            worker.is_alive() || worker.leaves_cold() || matches!(worker.phase, Phase::Retiring { .. })
        };
        let somebody = self.workers.values().any(counts);
        let forsaken = !somebody && self.calls.values().any(Call::waits_in_queue);
        self.forsaken_since = if forsaken { self.forsaken_since.or(Some(now)) } else { None };
    }

    /// After the clocks have fired nobody has waited longer than he wants to, and no silent worker was overlooked.
    pub(super) fn check_patience(&self, now: Timestamp) -> Verdict {
        for (&id, call) in &self.calls {
            call.check_patience(now, id)?;
        }
        let Some(interval) = self.config.health_interval else { return Ok(()) };
        let kept = self.kept_for_pinned();
        let idle = |worker: &Worker| worker.phase == Phase::Ready && worker.holds.is_empty();
        for (id, worker) in self.workers.iter().filter(|(id, worker)| idle(worker) && !kept.contains(id)) {
            let longest = (interval + interval.max(SHORTEST_LOOK)).max(self.config.health_timeout + interval);
            let unseen = now.since(worker.idle_since.max(worker.last_pong));
            let asked_for = worker.pinged_at.map(|at| now.since(at));
            law(asked_for.is_some() || unseen <= longest, || format!("{id} is not looked after"))?;
            law(asked_for.is_none_or(|span| span < self.config.health_timeout), || {
                format!("{id} is silent and lives on")
            })?;
        }
        Ok(())
    }

    pub(super) fn check_workers(&self, phase: PoolPhase) -> Verdict {
        let (workers, most) = (self.config.workers as usize, self.config.max_replacing as usize);
        let own_alive = self.workers.values().filter(|worker| worker.own && worker.is_alive()).count();
        let cold = self.workers.values().filter(|worker| worker.leaves_cold()).count();
        let lasting = self.lasting();
        law(own_alive <= workers + most, || format!("{own_alive} workers"))?;
        law(lasting + cold <= workers, || format!("{lasting} lasting workers and {cold} that leave cold"))?;
        let replacements = own_alive - lasting;
        law(replacements + cold <= most, || format!("{replacements} replacements, {cold} leave cold"))?;
        let kept = self.kept_for_pinned();
        let stuck = self.workers.iter().find(|(id, worker)| {
            matches!(worker.phase, Phase::Retiring { .. }) && worker.holds.is_empty() && !kept.contains(id)
        });
        law(stuck.is_none(), || format!("{} is marked and stays", stuck.expect("just seen").0))?;
        let first = self.lobby().next();
        let kept_out =
            phase <= PoolPhase::Draining && first.is_some_and(|first| self.admits(&self.calls[&first].spec));
        law(!kept_out, || format!("{first:?} waits outside, and there is room"))
    }

    pub(super) fn check_books(&self, now: Timestamp, scheduler: &Scheduler) -> Verdict {
        self.check_counters(now, scheduler)?;
        let waiting: Vec<_> =
            self.waiting().into_iter().filter(|id| self.calls[id].lies_at.is_none()).collect();
        if let Some(&head) = waiting.first().filter(|&&head| !self.gathers(head, now, scheduler.phase())) {
            let slots = self.calls[&head].spec.slots;
            let kept = self.kept_for_pinned();
            let idle = self.workers.iter().find(|(id, seen)| {
                seen.takes_calls() && seen.room(&self.config) >= slots && !kept.contains(id)
            });
            law(idle.is_none(), || format!("{head} waits while {} has room", idle.expect("just seen").0))?;
        }
        law(!self.closed || scheduler.poll_timeout().is_none(), || "a closed pool wants to be woken".into())?;
        let late = self.closing_by.is_some_and(|by| by < now);
        law(!late || self.all_settled(), || "calls outlived the close".into())?;
        let gone_by = self.closing_by.map(|by| by.after(self.config.stop_timeout).after(KILLS_TAKE));
        law(gone_by.is_none_or(|by| now <= by) || self.closed, || "workers outlived the close".into())
    }

    fn check_counters(&self, now: Timestamp, scheduler: &Scheduler) -> Verdict {
        let stats = scheduler.stats(now);
        let Counters {
            crashed,
            start_failed,
            recycled_calls,
            recycled_memory,
            recycled_age,
            recycled_reload,
            ..
        } = stats.counters;
        let mine = Counters {
            crashed,
            start_failed,
            recycled_calls,
            recycled_memory,
            recycled_age,
            recycled_reload,
            ..self.counters
        };
        law(stats.counters == mine, || format!("counted {:?}, seen {mine:?}", stats.counters))?;
        let recycled = recycled_calls + recycled_memory + recycled_age + recycled_reload;
        law(recycled == self.recycled, || format!("{recycled} recycled, seen {}", self.recycled))?;
        let (waiting, outside) = (self.waiting().len(), self.lobby().count());
        law((stats.queued, stats.in_lobby) == (waiting, outside), || {
            format!("{} and {} wait, seen {waiting} and {outside}", stats.queued, stats.in_lobby)
        })?;
        let settled = self.counters.answered + self.counters.failed + self.counters.cancelled;
        let open = self.calls.len();
        law(self.counters.submitted == settled + open as u64, || "calls are lost".into())?;
        law(scheduler.calls(now).count() == open, || "calls() does not show what is open".into())
    }
}
