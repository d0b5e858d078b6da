//! From the queue to workers, and from what still waits to new workers.

use super::Scheduler;
use super::batching::Gathering;
use crate::action::{Action, HandedTogether};
use crate::call::Call;
use crate::event::Event;
use crate::failure::Failure;
use crate::id::{CallId, WorkerId};
use crate::scaling::{Demand, workers_wanted};
use crate::timers::TimerKey;
use crate::worker::{BatchHold, Origin, Phase, Share};

/// How many calls behind one that fits nowhere are looked at, so that a decision costs the same however many wait.
const LOOK_PAST: usize = 64;

impl Scheduler {
    /// Hands out calls as long as one fits. A call that fits nowhere keeps the worker that will soonest have room for it;
    /// the calls behind it go to others. So do calls behind a batch that is not full yet, which keeps the room it has found.
    pub(super) fn dispatch(&mut self) {
        if !self.pinned_to.is_empty() {
            self.dispatch_pinned();
        }
        let mut gathering = Gathering::default();
        while self.placement.room() > 0 {
            gathering = Gathering::default();
            let Some((calls, worker)) = self.next_fit(&mut gathering) else { break };
            self.assign(&calls, worker);
        }
        self.go_on_gathering(gathering);
        self.hand_ahead();
    }

    /// Calls that are for one worker go before all others there; one that leaves takes its own with it.
    fn dispatch_pinned(&mut self) {
        for worker in std::mem::take(&mut self.pinned_to) {
            while let Some(call) = self.next_pinned(worker) {
                self.assign(&[call], worker);
            }
            if self.roster.worker(worker).is_some_and(|holder| !holder.pinned.is_empty()) {
                self.pinned_to.insert(worker);
            }
        }
    }

    fn next_pinned(&self, worker: WorkerId) -> Option<CallId> {
        let holder = self.roster.worker(worker)?;
        let call = *holder.pinned.first()?;
        let serves =
            matches!(holder.phase, Phase::Ready { .. } | Phase::Retiring { .. }) && holder.asked.is_empty();
        let free = self.config.concurrency.saturating_sub(self.placement.used(worker));
        (serves && free >= self.calls[&call].spec.slots).then_some(call)
    }

    /// The calls that go next, and where to: one, or a batch. What has to wait for others of its batch is gathered.
    fn next_fit(&self, gathering: &mut Gathering) -> Option<(Vec<CallId>, WorkerId)> {
        let mut kept: Option<WorkerId> = None;
        let mut looked_at = 0;
        for waiting in self.queue.in_order() {
            if gathering.has(waiting.call) {
                continue;
            }
            looked_at += 1;
            if looked_at > LOOK_PAST {
                break;
            }
            let call = &self.calls[&waiting.call];
            let mut excluded = call.excluded.clone();
            // What waits for one worker alone has its free slots.
            excluded.extend(kept.iter().chain(&self.pinned_to));
            let Some(worker) = self.room_for(call, waiting.slots, &excluded, gathering) else {
                kept = kept.or_else(|| self.placement.soonest(waiting.slots, &excluded));
                continue;
            };
            let Some(herd) = waiting.herd else { return Some((vec![waiting.call], worker)) };
            let party = self.party(waiting.call, herd, worker, gathering);
            match self.waits_until(&party, herd) {
                Some(until) => gathering.hold(party, herd, worker, until),
                None => return Some((party, worker)),
            }
        }
        None
    }

    /// Room that no batch has found before it.
    fn room_for(
        &self,
        call: &Call,
        slots: u32,
        excluded: &[WorkerId],
        gathering: &Gathering,
    ) -> Option<WorkerId> {
        let elsewhere: Vec<_> = excluded.iter().copied().chain(gathering.workers()).collect();
        let place = |excluded: &[WorkerId]| {
            self.favourite(call, excluded).or_else(|| self.placement.choose(slots, excluded))
        };
        place(&elsewhere).or_else(|| {
            let mut beside = gathering.workers().filter(|worker| !excluded.contains(worker));
            beside.find(|&worker| self.placement.fits(worker, slots + gathering.slots_at(worker)))
        })
    }

    /// The worker that calls with this one's key went to last, if it has room.
    fn favourite(&self, call: &Call, excluded: &[WorkerId]) -> Option<WorkerId> {
        let worker = self.affinity.worker(call.spec.affinity?)?;
        (self.placement.fits(worker, call.spec.slots) && !excluded.contains(&worker)).then_some(worker)
    }

    /// One call, or all of a batch, which takes the slots of one.
    fn assign(&mut self, calls: &[CallId], worker: WorkerId) {
        let Some(&first) = calls.first() else { return };
        let slots = self.calls[&first].spec.slots;
        self.placement.take(worker, slots);
        let count = u32::try_from(calls.len()).expect("a batch's most is of 32 bits");
        if count == 1 {
            return self.hand_over(first, worker, Share::Slots(slots), None);
        }
        self.counters.batches += 1;
        self.counters.batched += u64::from(count);
        let holder = self.roster.worker_mut(worker).expect("placement knows live workers only");
        holder.batches.insert(first, BatchHold { slots, unanswered: calls.len() });
        for (nth, &call) in (0..count).zip(calls) {
            self.hand_over(call, worker, Share::Batch(first), Some(HandedTogether { nth, count }));
        }
    }

    fn hand_over(&mut self, id: CallId, worker: WorkerId, share: Share, batch: Option<HandedTogether>) {
        self.queue.remove(id);
        self.timers.clear(TimerKey::QueueTimeout(id));
        let call = self.calls.get_mut(&id).expect("a waiting call is known");
        call.begin(worker, self.now);
        if let Some(key) = call.spec.affinity {
            self.affinity.note(key, worker);
        }
        if let Some(span) = call.spec.timeout {
            self.timers.set(TimerKey::Timeout(id), self.now.after(span));
        }
        self.actions.push_back(Action::Assign {
            worker,
            call: id,
            attempt: call.attempts,
            remaining: call.remaining(self.now),
            batch,
        });
        let holder = self.roster.worker_mut(worker).expect("placement knows live workers only");
        holder.pinned.remove(&id);
        holder.running.insert(id, share);
        holder.line.passed_by(id);
        holder.pinged_at = None;
        self.list(worker);
    }

    /// Starts as many workers as are wanted and may be started now.
    pub(super) fn start_workers(&mut self) {
        if !self.wants_workers() {
            return;
        }
        // A replacement is no more room: another worker leaves for it.
        let alive = self.lasting_workers();
        let demand = Demand {
            // What waits for more of its batch has found its room.
            waiting_slots: self.queue.slots().saturating_sub(self.gathering.slots()),
            // What waits after a dispatch found no place among the free slots of ready workers: they do not count.
            room: self.room_of_starting(),
            alive,
            concurrency: self.config.concurrency,
            most: self.config.workers,
        };
        self.target = self.target.max(workers_wanted(demand)).min(self.config.workers);
        let missing = self.target.saturating_sub(alive + self.roster.seats_held());
        let allowed = if self.backoff.is_cautious() {
            1_u32.saturating_sub(self.roster.own_starting())
        } else {
            missing
        };
        if missing > 0 && !self.backoff.allows(self.now) {
            return;
        }
        for _ in 0..missing.min(allowed) {
            let predecessor = self.vacant.pop_first();
            self.spawn(predecessor);
        }
    }

    /// When workers start badly and none is left, calls that wait are told at once.
    pub(super) fn fail_hopeless_calls(&mut self) {
        if !self.is_hopeless() {
            return;
        }
        while let Some(id) = self.queue.first() {
            self.queue.remove(id);
            let call = self.calls.remove(&id).expect("a waiting call is known");
            self.settle(id, &call, Failure::StartFailed);
        }
        while let Some(id) = self.lobby.first() {
            self.lobby.leave(id);
            let call = self.calls.remove(&id).expect("a call in the lobby is known");
            self.settle(id, &call, Failure::StartFailed);
        }
    }

    /// Whether starts failed again and again, and no worker serves or is being tried: calls fail at once.
    pub fn is_hopeless(&self) -> bool {
        self.backoff.is_broken() && !self.roster.any_alive()
    }

    /// Slots that waiting calls may count on before they count for the queue: those of starting workers and of workers
    /// that may yet be started.
    pub(super) fn room_to_come(&self) -> u64 {
        let alive = self.lasting_workers();
        let startable = self.config.workers.saturating_sub(alive);
        self.placement.room()
            + self.room_of_starting()
            + u64::from(startable) * u64::from(self.config.concurrency)
    }

    fn wants_workers(&self) -> bool {
        if self.backoff.is_broken() && !self.roster.any_alive() {
            // Nobody is tried in the background when all is broken; a waiting call is what asks for the next try.
            return !self.queue.is_empty();
        }
        self.phase.accepts_calls() || !self.queue.is_empty()
    }

    fn room_of_starting(&self) -> u64 {
        let starting = self.roster.starting().saturating_sub(self.replacements());
        u64::from(starting) * u64::from(self.config.concurrency)
    }

    /// The app wants workers ahead of calls. Like a call, it asks for the next try when all is broken.
    pub(super) fn warm(&mut self, workers: u32) {
        let workers = workers.min(self.config.workers);
        self.target = self.target.max(workers);
        self.warming = self.warming.max(workers);
        if self.target > 0
            && self.is_hopeless()
            && self.phase.accepts_calls()
            && self.backoff.allows(self.now)
        {
            let predecessor = self.vacant.pop_first();
            self.spawn(predecessor);
        }
    }

    /// The workers that were waited for are there, or cannot come: from now on those that have nothing to do may go, in their time.
    pub(super) fn end_warming(&mut self) {
        if self.warming > 0 && (self.is_warm(self.warming) || self.is_hopeless()) {
            self.warming = 0;
            self.begin_idling();
        }
    }

    pub(super) fn spawn(&mut self, predecessor: Option<WorkerId>) -> WorkerId {
        let worker = self.roster.seat(Origin::Spawned, &self.config, self.now);
        if let Some(holder) = self.roster.worker_mut(worker) {
            holder.replaces = predecessor;
        }
        self.counters.started += 1;
        self.timers.set(TimerKey::WorkerStart(worker), self.now.after(self.config.start_timeout));
        self.actions.push_back(Action::Spawn { worker, replaces: predecessor });
        self.emit(Event::WorkerStart { worker });
        worker
    }
}
