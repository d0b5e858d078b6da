//! A story: settings, how workers start, what the app and fate do and when. Scripts belong to commands, so that a story
//! without some of them stays the same otherwise.

use std::time::Duration;

use ganger_scheduler::{CallId, CallSpec, Config, Declaration, Exit, Input, WorkerId};

use crate::simulator::{Broken, Footprint, Run, Simulator, Start};

#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) config: Config,
    pub(super) starts: Vec<Start>,
    pub(super) commands: Vec<Command>,
    pub(super) ending: Ending,
    pub(super) footprint: Option<Footprint>,
    /// Workers claim calls, and what they say takes so long to arrive.
    pub(super) claims: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) wait: Duration,
    pub(super) deed: Deed,
}

#[derive(Clone, Debug)]
pub(super) enum Deed {
    Submit(CallSpec, Vec<Run>),
    /// The one of the calls so far that the number falls on.
    Cancel(u64),
    /// One call for every worker that is ready.
    Broadcast(CallSpec, Vec<Run>),
    /// A call for the one of the workers that the number falls on, ready or not.
    Pin(u64, CallSpec, Vec<Run>),
    Declare(u64, Declaration),
    Warm(u32),
    Reload,
    Headroom(Option<u64>),
    Attach(Start),
    /// Somebody kills the one of the workers that the number falls on.
    Slay(u64, Exit),
    Lie(Lie),
    Close(Option<Duration>),
    Terminate,
}

/// What no honest worker says, about some worker and some call.
#[derive(Clone, Debug)]
pub(super) enum Lie {
    ReadyAgain(u64),
    Answers(u64, u64),
    AnswersAsNobody(u64),
    SpeaksOf(u64, u64),
    ExitOfNobody(u64),
    CancelOfNobody(u64),
    Pong(u64),
    Memory(u64, u64),
    PongOfNobody(u64),
    Violation(u64),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    Close(Option<Duration>),
    CloseThenTerminate(Duration),
    Terminate,
}

impl Story {
    pub(super) fn size(&self) -> usize {
        self.commands.len() + self.starts.len()
    }
}

impl Deed {
    pub(super) fn do_to(&self, simulator: &mut Simulator) -> Result<(), Broken> {
        match self {
            Self::Submit(spec, runs) => simulator.try_submit_to(spec.clone(), runs.iter().copied()).map(drop),
            Self::Broadcast(spec, runs) => {
                for worker in simulator.scheduler().ready_workers() {
                    pin(simulator, worker, spec, runs)?;
                }
                Ok(())
            }
            Self::Pin(number, spec, runs) => match some_worker(simulator, *number) {
                Some(worker) => pin(simulator, worker, spec, runs),
                None => Ok(()),
            },
            &Self::Cancel(number) => {
                let call = some_call(simulator, number);
                simulator.try_tell(Input::Cancel { call })
            }
            &Self::Declare(number, declaration) => {
                let call = some_call(simulator, number);
                simulator.try_tell(Input::Declare { call, declaration })
            }
            &Self::Warm(workers) => simulator.try_tell(Input::Warm { workers }),
            Self::Reload => simulator.try_tell(Input::Reload),
            &Self::Headroom(memory) => simulator.try_tell(Input::Headroom { memory }),
            &Self::Attach(start) => simulator.try_attach(start),
            &Self::Slay(number, exit) => match some_worker(simulator, number) {
                Some(worker) => simulator.try_slay(worker, exit),
                None => Ok(()),
            },
            // The tokens of a worker that lies about what it has done say nothing.
            Self::Lie(Lie::Answers(..)) if simulator.claims() => Ok(()),
            Self::Lie(lie) => lie.input(simulator).map_or(Ok(()), |input| simulator.try_tell(input)),
            &Self::Close(timeout) => simulator.try_tell(Input::Close { timeout }),
            Self::Terminate => simulator.try_tell(Input::Terminate),
        }
    }
}

impl Lie {
    fn input(&self, simulator: &Simulator) -> Option<Input> {
        let call = |number: u64| CallId(1 + number % (simulator.calls_submitted() + 2));
        let nobody =
            |number: u64| WorkerId { index: u32::try_from(number % 4).expect("small"), generation: u32::MAX };
        Some(match *self {
            Self::ReadyAgain(worker) => Input::Ready { worker: some_worker(simulator, worker)? },
            Self::Answers(worker, id) => {
                Input::Answered { worker: some_worker(simulator, worker)?, call: call(id) }
            }
            Self::AnswersAsNobody(id) => Input::Answered { worker: nobody(id), call: call(id) },
            Self::SpeaksOf(worker, id) => {
                Input::Heard { worker: some_worker(simulator, worker)?, call: call(id) }
            }
            Self::ExitOfNobody(id) => {
                Input::Exited { worker: nobody(id), exit: Exit::Code(1), unwritten: vec![call(id)] }
            }
            Self::Pong(worker) => Input::Pong { worker: some_worker(simulator, worker)? },
            Self::PongOfNobody(id) => Input::Pong { worker: nobody(id) },
            Self::Memory(worker, memory) => Input::Sample { worker: some_worker(simulator, worker)?, memory },
            Self::CancelOfNobody(id) => Input::Cancel { call: CallId(1_000 + id % 10) },
            Self::Violation(worker) => Input::Violated { worker: some_worker(simulator, worker)? },
        })
    }
}

fn pin(simulator: &mut Simulator, worker: WorkerId, spec: &CallSpec, runs: &[Run]) -> Result<(), Broken> {
    let spec = CallSpec { pinned: Some(worker), ..spec.clone() };
    simulator.try_submit_to(spec, runs.iter().copied()).map(drop)
}

fn some_call(simulator: &Simulator, number: u64) -> CallId {
    CallId(1 + number % simulator.calls_submitted().max(1))
}

fn some_worker(simulator: &Simulator, number: u64) -> Option<WorkerId> {
    let workers = simulator.workers();
    let index = number.checked_rem(workers.len() as u64)?;
    Some(workers[usize::try_from(index).expect("it is below a length")])
}
