//! A pool's surroundings in virtual time: the clock jumps to the scheduler's next clock or the world's next happening,
//! workers follow their scripts, and every step is written down and checked.

mod describe;
mod history;
mod observer;
mod random;
mod script;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use ganger_scheduler::{
    Action, CallId, CallSpec, Config, Exit, Input, PoolPhase, Scheduler, Timestamp, WorkerId,
};

pub(crate) use describe::{describe, describe_input};
pub(crate) use history::{History, Step, Stimulus};
pub(crate) use observer::Observer;
pub(crate) use random::Random;
pub(crate) use script::{Conduct, Footprint, Run, Start};
use world::World;

/// More steps than any honest history has: a scheduler that spins is stopped here.
const MOST_STEPS: usize = 20_000;
const FOR_EVER: Duration = Duration::from_secs(1 << 32);

pub(crate) struct Simulator {
    scheduler: Scheduler,
    config: Config,
    now: Timestamp,
    world: World,
    observer: Observer,
    history: History,
    next_call: u64,
    next_attachment: u64,
}

/// A law that a history broke.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) String);

impl Simulator {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            scheduler: Scheduler::new(config.clone()),
            observer: Observer::new(config.clone()),
            config,
            now: Timestamp::ZERO,
            world: World::default(),
            history: History::default(),
            next_call: 1,
            next_attachment: 1,
        }
    }

    /// What the next workers do at their start, in order; afterwards they are ready in time.
    pub(crate) fn script_starts(&mut self, starts: impl IntoIterator<Item = Start>) {
        self.world.script_starts(starts);
    }

    /// From now on the memory of every worker that starts is looked at.
    pub(crate) fn sample(&mut self, footprint: Footprint) {
        self.world.sample(footprint);
    }

    /// From now on every worker that starts claims the calls that it begins, and what it says takes so long to arrive. Workers run one call
    /// at a time.
    pub(crate) fn claim(&mut self, lag: Duration) {
        assert_eq!(self.config.concurrency, 1, "nothing is handed ahead to others");
        self.world.claim(lag);
    }

    pub(crate) fn claims(&self) -> bool {
        self.world.claims()
    }

    /// Submits a call that is answered in time.
    pub(crate) fn submit(&mut self, spec: CallSpec) -> CallId {
        self.submit_to(spec, [])
    }

    /// Submits a call whose attempts go as scripted; the last script stands for all further attempts.
    pub(crate) fn submit_to(&mut self, spec: CallSpec, runs: impl IntoIterator<Item = Run>) -> CallId {
        self.try_submit_to(spec, runs).unwrap_or_else(|broken| self.fail(&broken))
    }

    pub(crate) fn cancel(&mut self, call: CallId) {
        self.tell(Input::Cancel { call });
    }

    pub(crate) fn close(&mut self, timeout: Option<Duration>) {
        self.tell(Input::Close { timeout });
    }

    pub(crate) fn warm(&mut self, workers: u32) {
        self.tell(Input::Warm { workers });
    }

    pub(crate) fn reload(&mut self) {
        self.tell(Input::Reload);
    }

    pub(crate) fn headroom(&mut self, memory: u64) {
        self.tell(Input::Headroom { memory: Some(memory) });
    }

    pub(crate) fn terminate(&mut self) {
        self.tell(Input::Terminate);
    }

    /// A process that nobody spawned asks to join; if it is let in it starts as scripted.
    pub(crate) fn attach(&mut self, start: Start) {
        self.try_attach(start).unwrap_or_else(|broken| self.fail(&broken));
    }

    /// Somebody else ends a worker now.
    pub(crate) fn slay(&mut self, worker: WorkerId, exit: Exit) {
        self.try_slay(worker, exit).unwrap_or_else(|broken| self.fail(&broken));
    }

    /// Gives the scheduler one input now, whether it makes sense or not.
    pub(crate) fn tell(&mut self, input: Input) {
        self.try_tell(input).unwrap_or_else(|broken| self.fail(&broken));
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        self.try_run_for(span).unwrap_or_else(|broken| self.fail(&broken));
    }

    /// Until neither the scheduler nor the world has anything to come.
    pub(crate) fn run_out(&mut self) {
        self.try_run_for(FOR_EVER).unwrap_or_else(|broken| self.fail(&broken));
    }

    pub(crate) fn try_submit_to(
        &mut self,
        spec: CallSpec,
        runs: impl IntoIterator<Item = Run>,
    ) -> Result<CallId, Broken> {
        let call = CallId(self.next_call);
        self.next_call += 1;
        self.world.script_call(call, runs);
        self.try_tell(Input::Submit { call, spec }).map(|()| call)
    }

    pub(crate) fn try_attach(&mut self, start: Start) -> Result<(), Broken> {
        let attachment = self.next_attachment;
        self.next_attachment += 1;
        self.world.script_attachment(attachment, start);
        self.try_tell(Input::Attach { attachment })
    }

    pub(crate) fn try_slay(&mut self, worker: WorkerId, exit: Exit) -> Result<(), Broken> {
        self.world.die(self.now, worker, exit).map_or(Ok(()), |input| self.try_tell(input))
    }

    pub(crate) fn try_tell(&mut self, input: Input) -> Result<(), Broken> {
        let phase = self.scheduler.phase();
        let clock_was_due = self.scheduler.poll_timeout().is_some_and(|at| at <= self.now);
        self.scheduler.handle(self.now, input.clone());
        self.conclude(Stimulus::Input(input), phase, clock_was_due)
    }

    pub(crate) fn try_run_for(&mut self, span: Duration) -> Result<(), Broken> {
        let end = self.now.after(span);
        let mut steps = 0;
        while let Some(at) = self.next_moment().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.step()?;
            steps += 1;
            if steps > MOST_STEPS {
                return Err(Broken(format!("no end after {steps} steps")));
            }
        }
        // Running out ends with the last thing that happens, not at the end of time.
        if span < FOR_EVER {
            self.now = end;
        }
        Ok(())
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn into_history(self) -> History {
        self.history
    }

    pub(crate) fn calls_submitted(&self) -> u64 {
        self.next_call - 1
    }

    pub(crate) fn observer(&self) -> &Observer {
        &self.observer
    }

    pub(crate) fn workers(&self) -> Vec<WorkerId> {
        self.world.workers()
    }

    /// What was assigned, in order.
    pub(crate) fn assigned(&self) -> Vec<(CallId, WorkerId)> {
        let mut assigned = Vec::new();
        for (_, action) in self.history.actions() {
            if let &(Action::Assign { worker, call, .. } | Action::TakeUp { worker, call }) = action {
                assigned.push((call, worker));
            }
        }
        assigned
    }

    /// How often each worker was given a call.
    pub(crate) fn loads(&self) -> BTreeMap<WorkerId, usize> {
        let mut loads = BTreeMap::new();
        for (_, worker) in self.assigned() {
            *loads.entry(worker).or_insert(0) += 1;
        }
        loads
    }

    fn step(&mut self) -> Result<(), Broken> {
        if self.scheduler.poll_timeout().is_some_and(|at| at <= self.now) {
            let phase = self.scheduler.phase();
            self.scheduler.handle_timeout(self.now);
            return self.conclude(Stimulus::Clock, phase, true);
        }
        match self.world.next_input(self.now) {
            Some(input) => self.try_tell(input),
            None => Ok(()),
        }
    }

    /// Carries out what the scheduler asks for, writes the step down and checks it.
    fn conclude(&mut self, stimulus: Stimulus, phase: PoolPhase, clock_was_due: bool) -> Result<(), Broken> {
        let mut actions = Vec::new();
        while let Some(action) = self.scheduler.poll_action() {
            actions.push(action);
            if actions.len() > MOST_STEPS {
                return Err(Broken("no end of actions".into()));
            }
        }
        let mut taken_back = Vec::new();
        for action in &actions {
            self.world.carry_out(self.now, action);
            if let &Action::TakeBack { worker, most } = action {
                let taken = self.world.take_back(worker, most);
                taken_back.push(Input::TakenBack { worker, asked: most, taken });
            }
        }
        if let Some(broken) = self.world.broken() {
            return Err(Broken(broken));
        }
        let step = self.history.record(self.now, stimulus, actions);
        self.observer.observe(step, phase, clock_was_due || !taken_back.is_empty(), &self.scheduler)?;
        taken_back.into_iter().try_for_each(|input| self.try_tell(input))
    }

    fn next_moment(&self) -> Option<Timestamp> {
        [self.scheduler.poll_timeout(), self.world.next_moment()].into_iter().flatten().min()
    }

    fn fail(&self, broken: &Broken) -> ! {
        panic!("{}\n{}", broken.0, self.history)
    }
}
