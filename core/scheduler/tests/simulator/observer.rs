//! The laws of a pool, checked after every step by one who sees inputs, actions and statistics only and keeps his own books.

mod ahead;
mod batches;
mod books;
mod call;
mod calls;
mod waiting;
mod worker;
mod workers;

use std::collections::{BTreeMap, BTreeSet};

use ganger_scheduler::{
    Action, CallId, Config, Counters, Event, Input, PoolPhase, Scheduler, Timestamp, WorkerId,
};

use super::Broken;
use super::history::{Step, Stimulus};
use batches::{Assigned, Party};
use call::{Call, Place};
use worker::Worker;

pub(crate) struct Observer {
    config: Config,
    /// Those that are not settled yet.
    calls: BTreeMap<CallId, Call>,
    settled: BTreeSet<CallId>,
    workers: BTreeMap<WorkerId, Worker>,
    counters: Counters,
    /// Workers seen to leave because they are replaced.
    recycled: u64,
    /// Where calls with this key went last, or who inherited it.
    favourites: BTreeMap<u64, WorkerId>,
    memory_given_up: bool,
    queue_is_full: bool,
    /// The batch that is being handed over.
    party: Option<Party>,
    closed: bool,
    /// When every call must be settled, and how long workers may then take to go.
    closing_by: Option<Timestamp>,
    /// Since when calls wait and no worker lives.
    forsaken_since: Option<Timestamp>,
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
            settled: BTreeSet::new(),
            workers: BTreeMap::new(),
            counters: Counters::default(),
            recycled: 0,
            favourites: BTreeMap::new(),
            memory_given_up: false,
            queue_is_full: false,
            party: None,
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
        self.check_forsaken(step.at)?;
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
            self.see(step, action, scheduler.phase())?;
        }
        self.check_party_is_whole()?;
        self.note_forsaken(step.at);
        if matches!(step.stimulus, Stimulus::Clock) {
            self.check_patience(step.at)?;
        }
        self.check_workers(scheduler.phase())?;
        self.check_books(step.at, scheduler)
    }

    /// Whether every call is settled.
    pub(crate) fn all_settled(&self) -> bool {
        self.calls.is_empty()
    }

    /// Books an input. False if it means nobody that is there.
    fn hear(&mut self, step: &Step, input: &Input, phase: PoolPhase) -> Result<bool, Broken> {
        match input {
            Input::Submit { call, spec } => self.hear_submit(step, *call, spec, phase)?,
            Input::Declare { call, declaration } => return Ok(self.hear_declaration(*call, declaration)),
            Input::Cancel { call } => {
                return Ok(self.calls.contains_key(call));
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
            Input::Attach { .. } | Input::Headroom { .. } | Input::Warm { .. } => {}
            &Input::Claims { worker } => return Ok(self.hear_claims(worker)),
            &Input::TakenBack { worker, asked, taken } => self.hear_taken_back(worker, asked, taken)?,
            Input::Reload if phase > PoolPhase::Running => {}
            Input::Reload => self.hear_reload(),
            Input::Sample { worker, memory } => return Ok(self.hear_sample(*worker, *memory)),
            Input::Pong { worker } => return Ok(self.hear_pong(step.at, *worker)),
            Input::Ready { worker } => return Ok(self.hear_ready(step.at, *worker)),
            Input::Heard { worker, call } => {
                if let Some(known) = self.calls.get_mut(call)
                    && known.place == Place::At(*worker)
                {
                    known.heard();
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

    fn see(&mut self, step: &Step, action: &Action, phase: PoolPhase) -> Verdict {
        match action {
            &Action::Spawn { worker, replaces } => self.see_spawn(step.at, worker, replaces),
            &Action::Admit { worker, .. } => self.see_worker(step.at, worker, false, None),
            Action::Refuse { .. } => Ok(()),
            &Action::Assign { worker, call, attempt, batch, .. } => {
                let assigned = Assigned { at: step.at, worker, attempt, batch, pool: phase };
                self.see_assign(&assigned, call)
            }
            &Action::HandAhead { worker, call, attempt, .. } => self.see_lie(worker, call, attempt),
            &Action::TakeUp { worker, call } => self.see_take_up(step.at, worker, call),
            &Action::TakeBack { worker, most } => self.see_take_back(worker, most),
            &Action::Cancel { worker, call, .. } => {
                let has = |seen: &Worker| seen.holds.contains_key(&call) || seen.has_before_it(call);
                let holds = self.workers.get(&worker).is_some_and(has);
                law(holds, || format!("{worker} is asked to stop {call}, which it does not have"))
            }
            &Action::Ping { worker } => self.see_ping(step.at, worker),
            &Action::Admitted { call } => self.see_admitted(call),
            &Action::Stop { worker, .. } => self.see_stop(step.at, worker, phase),
            &Action::Kill { worker, cause } => self.see_kill(step.at, worker, cause),
            Action::Settle { call, settlement } => self.see_settle(step, *call, settlement),
            Action::Emit(event) => self.see_event(step.at, event),
            Action::Closed => {
                self.closed = true;
                law(self.workers.is_empty() && self.all_settled(), || {
                    "closed with workers or calls left".into()
                })
            }
        }
    }

    fn see_event(&mut self, now: Timestamp, event: &Event) -> Verdict {
        match event {
            Event::QueueFull { .. } => {
                let twice = std::mem::replace(&mut self.queue_is_full, true);
                law(!twice, || "the queue is said to be full twice".into())
            }
            Event::QueueDrain => {
                let was_full = std::mem::replace(&mut self.queue_is_full, false);
                law(was_full && self.waiting().is_empty() && self.lobby().next().is_none(), || {
                    "the queue drained that was not full, or not yet".into()
                })
            }
            Event::CallRetry { call, attempt, .. } => {
                self.counters.retried += 1;
                law(self.calls[call].attempts == *attempt, || {
                    format!("{call}: attempt {attempt} was not the last")
                })
            }
            Event::WorkerRecycle { worker, reason, cold, .. } => {
                self.see_recycle(now, *worker, *reason, *cold)
            }
            Event::WorkerUnresponsive { .. } => {
                self.counters.unresponsive += 1;
                Ok(())
            }
            Event::MemoryFloor { worker, .. } => self.see_memory_floor(*worker),
            Event::Reload { .. }
            | Event::ReplacementFailed { .. }
            | Event::WorkerStart { .. }
            | Event::WorkerReady { .. }
            | Event::WorkerExit { .. } => Ok(()),
        }
    }

    /// Calls that wait for one worker alone keep its free slots.
    fn kept_for_pinned(&self) -> BTreeSet<WorkerId> {
        let pinned = self.calls.values().filter(|call| call.place == Place::Pinned);
        pinned.filter_map(|call| call.spec.pinned).collect()
    }
}
