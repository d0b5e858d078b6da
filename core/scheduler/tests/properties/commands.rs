//! A story that a seed tells: settings, how workers start, what the app and fate do and when. Scripts belong to commands, so
//! that a story without some of them stays the same otherwise.

use std::time::Duration;

use ganger_scheduler::{CallId, CallSpec, Config, Exit, Input, WorkerId};

use crate::simulator::{Broken, Conduct, Random, Run, Simulator, Start};

#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) config: Config,
    pub(super) starts: Vec<Start>,
    pub(super) commands: Vec<Command>,
    pub(super) ending: Ending,
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
    Violation(u64),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    Close(Option<Duration>),
    CloseThenTerminate(Duration),
    Terminate,
}

/// How bad the world of a story is, in percent.
struct Fate {
    bad_starts: u64,
    bad_runs: u64,
    meddling: u64,
    slots: bool,
}

impl Story {
    pub(super) fn from_seed(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let config = config(random);
        let fate = Fate {
            bad_starts: random.pick(&[0, 0, 10, 40, 95]),
            bad_runs: random.pick(&[0, 10, 30, 60]),
            meddling: random.pick(&[0, 10, 40]),
            slots: random.percent(50),
        };
        let starts = (0..random.below(20)).map(|_| start(random, &fate)).collect();
        let hurry = random.pick(&[5, 50, 500, 3_000]);
        let commands = (0..20 + random.below(80)).map(|_| command(random, &config, &fate, hurry)).collect();
        Self { config, starts, commands, ending: ending(random) }
    }

    pub(super) fn size(&self) -> usize {
        self.commands.len() + self.starts.len()
    }
}

impl Deed {
    pub(super) fn do_to(&self, simulator: &mut Simulator) -> Result<(), Broken> {
        match self {
            Self::Submit(spec, runs) => simulator.try_submit_to(spec.clone(), runs.iter().copied()).map(drop),
            &Self::Cancel(number) => {
                let call = CallId(1 + number % simulator.calls_submitted().max(1));
                simulator.try_tell(Input::Cancel { call })
            }
            &Self::Attach(start) => simulator.try_attach(start),
            &Self::Slay(number, exit) => match some_worker(simulator, number) {
                Some(worker) => simulator.try_slay(worker, exit),
                None => Ok(()),
            },
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
            Self::CancelOfNobody(id) => Input::Cancel { call: CallId(1_000 + id % 10) },
            Self::Violation(worker) => Input::Violated { worker: some_worker(simulator, worker)? },
        })
    }
}

fn some_worker(simulator: &Simulator, number: u64) -> Option<WorkerId> {
    let workers = simulator.workers();
    let index = number.checked_rem(workers.len() as u64)?;
    Some(workers[usize::try_from(index).expect("it is below a length")])
}

fn config(random: &mut Random) -> Config {
    Config {
        workers: random.between(1, 4),
        concurrency: random.pick(&[1, 1, 2, 3, 4]),
        max_queue: random.pick(&[0, 1, 3, 10, 1_000]),
        max_queue_bytes: random.pick(&[0, 100, 1 << 20]),
        start_timeout: Duration::from_millis(random.pick(&[20, 500, 60_000])),
        stop_timeout: Duration::from_millis(random.pick(&[0, 20, 5_000])),
        ..Config::default()
    }
}

fn start(random: &mut Random, fate: &Fate) -> Start {
    if !random.percent(fate.bad_starts) {
        let after = random.span(100);
        return if random.percent(10) { Start::ReadyButStays(after) } else { Start::ReadyAfter(after) };
    }
    match random.below(4) {
        0 => Start::NotStarted,
        1 => Start::DiesAfter(random.span(200), exit(random)),
        2 => Start::ReadyThenDies(random.span(100), random.span(8_000), exit(random)),
        _ => Start::Hangs,
    }
}

fn command(random: &mut Random, config: &Config, fate: &Fate, hurry: u64) -> Command {
    let wait = random.span(hurry);
    let deed =
        if random.percent(fate.meddling) { meddle(random, fate) } else { submit(random, config, fate) };
    Command { wait, deed }
}

fn submit(random: &mut Random, config: &Config, fate: &Fate) -> Deed {
    // Now and then one more than a worker has.
    let most_slots = config.concurrency + u32::from(random.percent(3));
    let longest_grace = random.pick(&[0, 50, 2_000, 100_000]);
    let spec = CallSpec {
        bytes: random.pick(&[0, 10, 10, 90, 1_000]),
        priority: random.pick(&[0, 0, 0, 5, -1]),
        slots: if fate.slots { random.between(1, most_slots) } else { 1 },
        weight: 1,
        idempotent: random.percent(50),
        retries: random.between(0, 3),
        queue_timeout: maybe_span(random, 500),
        timeout: maybe_span(random, 300),
        deadline: maybe_span(random, 2_000),
        cancel_grace: random.span(longest_grace),
        affinity: None,
        exclusive: false,
        pinned: None,
    };
    Deed::Submit(spec, (0..1 + random.below(3)).map(|_| run(random, fate)).collect())
}

fn run(random: &mut Random, fate: &Fate) -> Run {
    let after = random.span(400);
    let conduct = if !random.percent(fate.bad_runs) {
        Conduct::Answers(after)
    } else {
        match random.below(10) {
            0 | 1 => Conduct::Stalls,
            2 | 3 => Conduct::StopsAfter(after),
            4 => Conduct::Crashes(after, exit(random)),
            5 => Conduct::Unwritten(after, exit(random)),
            6 => Conduct::AnswersTwice(after),
            7 => random.pick(&[Conduct::AnswersAnother(after), Conduct::AnswersAsFormer(after)]),
            8 => Conduct::SpeaksAfterwards(after),
            _ => Conduct::Violates(after),
        }
    };
    let unwritten = matches!(conduct, Conduct::Unwritten(..));
    Run { heard: !unwritten && random.percent(20), conduct }
}

fn meddle(random: &mut Random, fate: &Fate) -> Deed {
    let (one, other) = (random.below(1_000), random.below(1_000));
    match random.below(24) {
        0..=8 => Deed::Cancel(one),
        9 | 10 => Deed::Attach(start(random, fate)),
        11..=14 => Deed::Slay(one, exit(random)),
        15 => Deed::Lie(Lie::ReadyAgain(one)),
        16 => Deed::Lie(Lie::Answers(one, other)),
        17 => Deed::Lie(Lie::AnswersAsNobody(one)),
        18 => Deed::Lie(Lie::SpeaksOf(one, other)),
        19 => Deed::Lie(Lie::ExitOfNobody(one)),
        20 => Deed::Lie(Lie::CancelOfNobody(one)),
        21 => Deed::Lie(Lie::Violation(one)),
        22 if random.percent(20) => Deed::Close(maybe_span(random, 2_000)),
        23 if random.percent(10) => Deed::Terminate,
        _ => Deed::Cancel(other),
    }
}

fn ending(random: &mut Random) -> Ending {
    match random.below(3) {
        0 => Ending::Terminate,
        1 => Ending::Close(Some(random.span(5_000))),
        _ => Ending::CloseThenTerminate(random.span(100_000)),
    }
}

fn exit(random: &mut Random) -> Exit {
    random.pick(&[Exit::Code(0), Exit::Code(1), Exit::Signal(11), Exit::Signal(9), Exit::Unknown])
}

fn maybe_span(random: &mut Random, longest_ms: u64) -> Option<Duration> {
    random.percent(30).then(|| random.span(longest_ms))
}
