//! The laws of a pool, checked after every step by one who sees inputs, actions and statistics only and keeps his own books.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use ganger_scheduler::{
    Action, CallId, CallSpec, Config, Counters, Event, Failure, Input, PoolPhase, Scheduler, Settlement,
    Started, Timestamp, WorkerId,
};

use super::Broken;
use super::history::{Step, Stimulus};

pub(crate) struct Observer {
    config: Config,
    calls: BTreeMap<CallId, Call>,
    workers: BTreeMap<WorkerId, Worker>,
    counters: Counters,
    queue_is_full: bool,
    closed: bool,
    /// When every call must be settled, and how long workers may then take to go.
    closing_by: Option<Timestamp>,
    /// Since when calls wait and no worker lives.
    forsaken_since: Option<Timestamp>,
}

struct Call {
    spec: CallSpec,
    submitted_at: Timestamp,
    assigned_at: Timestamp,
    /// Begun, those whose frame was never written not counted.
    attempts: u32,
    lost: u32,
    started: Started,
    /// The same of attempts that are over.
    started_before: Started,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Fresh,
    Returned,
    At(WorkerId),
    Settled,
}

struct Worker {
    own: bool,
    phase: Phase,
    /// What it holds, with the slots; true: its caller is settled.
    holds: BTreeMap<CallId, (u32, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Starting,
    Ready,
    Stopping,
    Killed,
}

type Verdict = Result<(), Broken>;

fn law(holds: bool, text: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(Broken(text())) }
}

impl Observer {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            calls: BTreeMap::new(),
            workers: BTreeMap::new(),
            counters: Counters::default(),
            queue_is_full: false,
            closed: false,
            closing_by: None,
            forsaken_since: None,
        }
    }

    /// Takes one step into the books. `phase` is the pool's before it; `clock_was_due` allows an input to set off what a
    /// clock would have.
    pub(crate) fn observe(
        &mut self,
        step: &Step,
        phase: PoolPhase,
        clock_was_due: bool,
        scheduler: &Scheduler,
    ) -> Verdict {
        let was_closed = self.closed;
        let forsaken_for = self.forsaken_since.map(|since| step.at.since(since));
        law(forsaken_for.is_none_or(|span| span <= LONGEST_BACKOFF + KILLS_TAKE), || {
            "calls wait and nobody is started".into()
        })?;
        match &step.stimulus {
            Stimulus::Input(input) => {
                let meant = self.hear(step, input, phase)?;
                law(meant || clock_was_due || step.actions.is_empty(), || {
                    "an input that means nobody changed something".into()
                })?;
            }
            Stimulus::Clock => law(scheduler.poll_timeout().is_none_or(|next| next > step.at), || {
                "after the clock was handled it is due again".into()
            })?,
        }
        for (index, action) in step.actions.iter().enumerate() {
            let allowed_after_end = matches!(action, Action::Refuse { .. } | Action::Settle { .. });
            law(!self.closed || (was_closed && allowed_after_end), || {
                format!("action {index} comes after the last one: {action:?}")
            })?;
            self.see(step, action)?;
        }
        let forsaken = !self.workers.values().any(Worker::is_alive) && !self.waiting().is_empty();
        self.forsaken_since = if forsaken { self.forsaken_since.or(Some(step.at)) } else { None };
        if matches!(step.stimulus, Stimulus::Clock) {
            self.check_patience(step.at)?;
        }
        self.check_books(step.at, scheduler)
    }

    /// Whether every call is settled.
    pub(crate) fn all_settled(&self) -> bool {
        self.calls.values().all(|call| call.place == Place::Settled)
    }

    /// Books an input. False if it means nobody that is there.
    fn hear(&mut self, step: &Step, input: &Input, phase: PoolPhase) -> Result<bool, Broken> {
        match input {
            Input::Submit { call, spec } => self.hear_submit(step, *call, spec, phase)?,
            Input::Cancel { call } => {
                return Ok(self.calls.get(call).is_some_and(|call| call.place != Place::Settled));
            }
            Input::Close { timeout } => {
                if phase <= PoolPhase::Draining {
                    self.closing_by = timeout.map(|span| step.at.after(span));
                }
            }
            Input::Terminate => {
                if phase < PoolPhase::Ending {
                    self.closing_by = Some(step.at);
                }
            }
            Input::Attach { .. } => {}
            Input::Ready { worker } => {
                let Some(seen) = self.workers.get_mut(worker) else { return Ok(false) };
                if seen.phase != Phase::Starting {
                    return Ok(false);
                }
                seen.phase = Phase::Ready;
            }
            Input::Heard { worker, call } => {
                if let Some(known) = self.calls.get_mut(call)
                    && known.place == Place::At(*worker)
                {
                    known.started = Started::Yes;
                }
                return Ok(false);
            }
            Input::Answered { worker, call } => return self.hear_answer(step, *worker, *call),
            Input::Violated { worker } => return Ok(self.workers.contains_key(worker)),
            Input::Exited { worker, unwritten, .. } => {
                return self.hear_exit(step, *worker, unwritten, phase);
            }
        }
        Ok(true)
    }

    fn hear_submit(&mut self, step: &Step, id: CallId, spec: &CallSpec, phase: PoolPhase) -> Verdict {
        self.counters.submitted += 1;
        let refusal = step.actions.iter().find_map(|action| failure_of(action, id));
        let has_room = self.admits(spec);
        match refusal {
            Some(Failure::QueueFull { .. }) => {
                law(!has_room, || format!("{id} was refused though there is room"))?
            }
            Some(Failure::PoolClosed) => {
                law(phase != PoolPhase::Running, || format!("{id}: the pool is open"))?
            }
            Some(Failure::TooManySlots { .. }) => {
                law(spec.slots > self.config.concurrency, || format!("{id}: its slots are not too many"))?;
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
                law(has_room && phase == PoolPhase::Running && spec.slots <= self.config.concurrency, || {
                    format!("{id} should have been refused")
                })?
            }
        }
        let call = Call {
            spec: spec.clone(),
            submitted_at: step.at,
            assigned_at: step.at,
            attempts: 0,
            lost: 0,
            started: Started::No,
            started_before: Started::No,
            place: Place::Fresh,
        };
        law(self.calls.insert(id, call).is_none(), || format!("{id} was submitted twice"))
    }

    /// Calls that will find room in workers that are there or may be started wait for nothing and count for nothing; the
    /// bounds are about those behind them.
    fn admits(&self, spec: &CallSpec) -> bool {
        let mut room = self.room_to_come();
        let (mut calls, mut bytes) = (0, 0);
        let mut everyone_fits = true;
        for id in self.waiting() {
            let call = &self.calls[&id];
            let slots = u64::from(call.spec.slots);
            everyone_fits &= slots <= room;
            if everyone_fits {
                room -= slots;
            } else if call.place == Place::Fresh {
                calls += 1;
                bytes += call.spec.bytes;
            }
        }
        if everyone_fits && u64::from(spec.slots) <= room {
            return true;
        }
        calls < self.config.max_queue && (bytes == 0 || bytes + spec.bytes <= self.config.max_queue_bytes)
    }

    fn room_to_come(&self) -> u64 {
        let own = self.workers.values().filter(|worker| worker.own && worker.is_alive()).count() as u64;
        let startable =
            u64::from(self.config.workers).saturating_sub(own) * u64::from(self.config.concurrency);
        startable + self.workers.values().map(|worker| u64::from(worker.room(&self.config))).sum::<u64>()
    }

    /// Calls that wait, best first.
    fn waiting(&self) -> Vec<CallId> {
        let waits = |id: &CallId| matches!(self.calls[id].place, Place::Fresh | Place::Returned);
        let mut waiting: Vec<_> = self.calls.keys().copied().filter(waits).collect();
        waiting.sort_by_key(|id| {
            let call = &self.calls[id];
            (Reverse(call.spec.priority), call.place == Place::Fresh, *id)
        });
        waiting
    }

    fn hear_answer(&mut self, step: &Step, worker: WorkerId, id: CallId) -> Result<bool, Broken> {
        let held = self.workers.get_mut(&worker).and_then(|seen| seen.holds.remove(&id));
        let settles = step.actions.iter().any(|action| {
            matches!(action, Action::Settle { call, settlement: Settlement::Answered { .. } } if *call == id)
        });
        let should = held.is_some_and(|(_, caller_is_settled)| !caller_is_settled);
        law(settles == should, || {
            format!("{worker} answered {id}, settled by it: {settles}, should be: {should}")
        })?;
        Ok(held.is_some())
    }

    /// Every call of the dead worker is lost, goes back or runs again, as its own rules say.
    fn hear_exit(
        &mut self,
        step: &Step,
        id: WorkerId,
        unwritten: &[CallId],
        phase: PoolPhase,
    ) -> Result<bool, Broken> {
        let Some(worker) = self.workers.remove(&id) else { return Ok(false) };
        for (&held, _) in worker.holds.iter().filter(|(_, (_, caller_is_settled))| !caller_is_settled) {
            let call = self.calls.get_mut(&held).expect("what a worker holds was submitted");
            let died = step.actions.iter().any(|action| is_death_of(action, held, id));
            let may_repeat =
                call.spec.idempotent && call.lost < call.spec.retries && phase == PoolPhase::Running;
            if unwritten.contains(&held) {
                call.attempts -= 1;
                call.started = call.started_before;
                call.place = Place::Returned;
                law(!died, || format!("{held} was never written and is told of a death"))?;
            } else if may_repeat {
                call.lost += 1;
                call.started_before = call.started;
                call.place = Place::Returned;
                law(!died, || format!("{held} may run again and is told of a death"))?;
            } else {
                law(died, || format!("{held} must not run again and is not told of the death"))?;
            }
        }
        Ok(true)
    }

    fn see(&mut self, step: &Step, action: &Action) -> Verdict {
        match action {
            &Action::Spawn { worker } => self.see_worker(worker, true),
            &Action::Admit { worker, .. } => self.see_worker(worker, false),
            Action::Refuse { .. } => Ok(()),
            &Action::Assign { worker, call, attempt, .. } => self.see_assign(step.at, worker, call, attempt),
            &Action::Cancel { worker, call, .. } => {
                let holds = self.workers.get(&worker).is_some_and(|seen| seen.holds.contains_key(&call));
                law(holds, || format!("{worker} is asked to stop {call}, which it does not have"))
            }
            &Action::Stop { worker, .. } => self.see_stop(worker),
            &Action::Kill { worker, .. } => self.see_kill(worker),
            Action::Settle { call, settlement } => self.see_settle(step, *call, settlement),
            Action::Emit(event) => self.see_event(event),
            Action::Closed => {
                self.closed = true;
                law(self.workers.is_empty() && self.all_settled(), || {
                    "closed with workers or calls left".into()
                })
            }
        }
    }

    fn see_worker(&mut self, worker: WorkerId, own: bool) -> Verdict {
        let seen = Worker { own, phase: Phase::Starting, holds: BTreeMap::new() };
        law(self.workers.insert(worker, seen).is_none(), || format!("{worker} is there already"))?;
        self.counters.started += u64::from(own);
        let own_alive = self.workers.values().filter(|worker| worker.own && worker.is_alive()).count();
        law(own_alive <= self.config.workers as usize, || format!("{own_alive} workers"))
    }

    fn see_assign(&mut self, now: Timestamp, worker: WorkerId, id: CallId, attempt: u32) -> Verdict {
        let best = self.waiting();
        let call = self.calls.get_mut(&id).ok_or_else(|| Broken(format!("{id} is unknown")))?;
        let waits = matches!(call.place, Place::Fresh | Place::Returned);
        law(waits, || format!("{id} is assigned but does not wait"))?;
        let seen = self.workers.get_mut(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        law(seen.takes_calls(), || format!("{worker} gets {id} and is {:?} or in grace", seen.phase))?;
        law(seen.room(&self.config) >= call.spec.slots, || format!("{worker} has no room for {id}"))?;
        call.attempts += 1;
        call.assigned_at = now;
        law(attempt == call.attempts, || format!("{id}: attempt {attempt} is number {}", call.attempts))?;
        let most = if call.spec.idempotent { 1 + call.spec.retries } else { 1 };
        law(attempt <= most, || format!("{id}: attempt {attempt} of {most}"))?;
        seen.holds.insert(id, (call.spec.slots, false));
        call.place = Place::At(worker);
        call.started = call.started.max(Started::Maybe);
        let slots = call.spec.slots;
        let mut passed_over = best.iter().take_while(|&&better| better != id);
        let wronged = passed_over.find(|better| self.calls[better].spec.slots <= slots);
        law(wronged.is_none(), || format!("{id} is assigned before {}", wronged.expect("just seen")))
    }

    fn see_stop(&mut self, worker: WorkerId) -> Verdict {
        let seen = self.workers.get_mut(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        let free = seen.phase == Phase::Ready && seen.holds.is_empty();
        seen.phase = Phase::Stopping;
        law(free, || format!("{worker} is stopped at work"))
    }

    fn see_kill(&mut self, worker: WorkerId) -> Verdict {
        let seen = self.workers.get_mut(&worker).ok_or_else(|| Broken(format!("{worker} is gone")))?;
        let before = std::mem::replace(&mut seen.phase, Phase::Killed);
        law(before != Phase::Killed, || format!("{worker} is killed twice"))
    }

    fn see_settle(&mut self, step: &Step, id: CallId, settlement: &Settlement) -> Verdict {
        let call = self.calls.get_mut(&id).ok_or_else(|| Broken(format!("{id} is unknown")))?;
        law(call.place != Place::Settled, || format!("{id} is settled twice"))?;
        if let Settlement::Failed { failure, .. } = settlement {
            Self::check_clock(step.at, id, call, failure)?;
        }
        if let Place::At(worker) = call.place
            && let Some(seen) = self.workers.get_mut(&worker)
            && let Some((_, caller_is_settled)) = seen.holds.get_mut(&id)
        {
            *caller_is_settled = true;
        }
        call.place = Place::Settled;
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

    fn see_event(&mut self, event: &Event) -> Verdict {
        match event {
            Event::QueueFull { .. } => {
                let twice = std::mem::replace(&mut self.queue_is_full, true);
                law(!twice, || "the queue is said to be full twice".into())
            }
            Event::QueueDrain => {
                let was_full = std::mem::replace(&mut self.queue_is_full, false);
                law(was_full && self.waiting().is_empty(), || {
                    "the queue drained that was not full, or not yet".into()
                })
            }
            Event::CallRetry { call, attempt, .. } => {
                self.counters.retried += 1;
                law(self.calls[call].attempts == *attempt, || {
                    format!("{call}: attempt {attempt} was not the last")
                })
            }
            Event::WorkerStart { .. } | Event::WorkerReady { .. } | Event::WorkerExit { .. } => Ok(()),
        }
    }

    /// After the clocks have fired nobody waits for a first attempt, or runs, longer than he wants to.
    fn check_patience(&self, now: Timestamp) -> Verdict {
        for (id, call) in self.calls.iter().filter(|(_, call)| call.place != Place::Settled) {
            let (bound, since) = match call.place {
                Place::At(_) => (call.spec.timeout, call.assigned_at),
                Place::Fresh | Place::Returned if call.attempts == 0 => {
                    (call.spec.queue_timeout, call.submitted_at)
                }
                Place::Fresh | Place::Returned | Place::Settled => (None, now),
            };
            law(bound.is_none_or(|span| now.since(since) < span), || format!("{id} is over its time"))?;
        }
        Ok(())
    }

    /// A clock ends only what it is about, and when it is due.
    fn check_clock(now: Timestamp, id: CallId, call: &Call, failure: &Failure) -> Verdict {
        let due =
            |span: Option<Duration>, since: Timestamp| span.is_some_and(|span| now.since(since) >= span);
        let fair = match failure {
            Failure::QueueTimeout { .. } => {
                call.attempts == 0 && due(call.spec.queue_timeout, call.submitted_at)
            }
            Failure::Timeout { .. } => {
                matches!(call.place, Place::At(_)) && due(call.spec.timeout, call.assigned_at)
            }
            Failure::DeadlineExceeded { .. } => due(call.spec.deadline, call.submitted_at),
            Failure::QueueFull { .. }
            | Failure::Cancelled
            | Failure::WorkerDied { .. }
            | Failure::StartFailed
            | Failure::PoolClosed
            | Failure::TooManySlots { .. } => true,
        };
        law(fair, || format!("{id}: {failure:?} comes too early or to the wrong call"))
    }

    fn check_books(&self, now: Timestamp, scheduler: &Scheduler) -> Verdict {
        let stats = scheduler.stats(now);
        let Counters { crashed, start_failed, .. } = stats.counters;
        let mine = Counters { crashed, start_failed, ..self.counters };
        law(stats.counters == mine, || format!("counted {:?}, seen {mine:?}", stats.counters))?;
        let waiting = self.waiting();
        law(stats.queued == waiting.len(), || format!("{} wait, seen {}", stats.queued, waiting.len()))?;
        let settled = self.counters.answered + self.counters.failed + self.counters.cancelled;
        let open = self.calls.values().filter(|call| call.place != Place::Settled).count();
        law(self.counters.submitted == settled + open as u64, || "calls are lost".into())?;
        law(scheduler.calls(now).count() == open, || "calls() does not show what is open".into())?;
        if let Some(&head) = waiting.first() {
            let slots = self.calls[&head].spec.slots;
            let idle =
                self.workers.iter().find(|(_, seen)| seen.takes_calls() && seen.room(&self.config) >= slots);
            law(idle.is_none(), || format!("{head} waits while {} has room", idle.expect("just seen").0))?;
        }
        law(!self.closed || scheduler.poll_timeout().is_none(), || "a closed pool wants to be woken".into())?;
        let late = self.closing_by.is_some_and(|by| by < now);
        law(!late || self.all_settled(), || "calls outlived the close".into())?;
        let gone_by = self.closing_by.map(|by| by.after(self.config.stop_timeout).after(KILLS_TAKE));
        law(gone_by.is_none_or(|by| now <= by) || self.closed, || "workers outlived the close".into())
    }
}

/// DESIGN 4.2: starts that fail back off to this at most.
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);
/// What the world takes to carry out a kill, with something to spare.
const KILLS_TAKE: Duration = Duration::from_millis(5);

fn is_death_of(action: &Action, call: CallId, worker: WorkerId) -> bool {
    failure_of(action, call)
        .is_some_and(|failure| matches!(failure, Failure::WorkerDied { worker: dead, .. } if *dead == worker))
}

fn failure_of(action: &Action, id: CallId) -> Option<&Failure> {
    let Action::Settle { call, settlement: Settlement::Failed { failure, .. } } = action else { return None };
    (*call == id).then_some(failure)
}

impl Worker {
    fn is_alive(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ready)
    }

    fn is_in_grace(&self) -> bool {
        self.holds.values().any(|&(_, caller_is_settled)| caller_is_settled)
    }

    fn takes_calls(&self) -> bool {
        self.phase == Phase::Ready && !self.is_in_grace()
    }

    /// Free slots, now or once it is ready.
    fn room(&self, config: &Config) -> u32 {
        if !self.is_alive() || self.is_in_grace() {
            return 0;
        }
        config.concurrency - self.holds.values().map(|&(slots, _)| slots).sum::<u32>()
    }
}
