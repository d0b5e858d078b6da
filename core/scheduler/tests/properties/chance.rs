//! The story that a seed tells: what is left to chance, and how often.

use std::time::Duration;

use ganger_scheduler::{Batch, CallSpec, Config, Declaration, Exit, WhenFull};

use super::commands::{Command, Deed, Ending, Lie, Story};
use crate::simulator::{Conduct, Footprint, Random, Run, Start};

/// How bad the world of a story is, in percent.
struct Fate {
    bad_starts: u64,
    bad_runs: u64,
    meddling: u64,
    slots: bool,
    affinity: bool,
    batches: bool,
    /// Calls that may lie before a worker, in percent, and are quick.
    ahead: u64,
}

impl Story {
    pub(super) fn from_seed(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let config = config(random);
        let claims = (config.concurrency == 1 && random.percent(60))
            .then(|| Duration::from_micros(random.pick(&[0, 100, 3_000])));
        let fate = Fate {
            bad_starts: random.pick(&[0, 0, 10, 40, 95]),
            bad_runs: random.pick(&[0, 10, 30, 60]),
            meddling: random.pick(&[0, 10, 40]),
            slots: random.percent(50),
            affinity: random.percent(30),
            batches: random.percent(40),
            ahead: claims.map_or(0, |_| random.pick(&[50, 100, 100])),
        };
        let starts = (0..random.below(20)).map(|_| start(random, &fate)).collect();
        let hurry = random.pick(&[5, 50, 500, 3_000]);
        let commands = (0..20 + random.below(80)).map(|_| command(random, &config, &fate, hurry)).collect();
        Self { config, starts, commands, ending: ending(random), footprint: footprint(random), claims }
    }
}

fn config(random: &mut Random) -> Config {
    Config {
        workers: random.between(1, 4),
        concurrency: random.pick(&[1, 1, 2, 3, 4]),
        max_queue: random.pick(&[0, 1, 3, 10, 1_000]),
        max_queue_bytes: random.pick(&[0, 100, 1 << 20]),
        start_timeout: Duration::from_millis(random.pick(&[20, 500, 60_000])),
        stop_timeout: Duration::from_millis(random.pick(&[0, 20, 5_000])),
        min_workers: random.below(3) as u32,
        idle_timeout: choice(random, &[0, 5, 200, 3_000]),
        when_full: if random.percent(60) {
            WhenFull::Reject
        } else {
            WhenFull::Wait { timeout: maybe_span(random, 500) }
        },
        health_interval: choice(random, &[50, 500, 2_000]),
        health_timeout: Duration::from_millis(random.pick(&[0, 20, 1_000])),
        max_calls: random.percent(30).then(|| random.pick(&[1, 3, 10])),
        max_age: choice(random, &[20, 400, 4_000]),
        max_memory: random.percent(30).then_some(MEMORY),
        memory_samples: random.between(1, 3),
        jitter_percent: random.pick(&[0, 10, 50]),
        max_replacing: random.pick(&[1, 1, 2, 3]),
        seed: random.below(1_000),
    }
}

/// What a worker may use in a story where memory counts.
const MEMORY: u64 = 1_000;

fn footprint(random: &mut Random) -> Option<Footprint> {
    random.percent(30).then(|| Footprint {
        every: Duration::from_millis(random.pick(&[100, 1_000])),
        fresh: random.pick(&[0, 400, 950, 2_000]),
        leak: random.pick(&[0, 30, 400]),
    })
}

fn choice(random: &mut Random, ms: &[u64]) -> Option<Duration> {
    random.percent(30).then(|| Duration::from_millis(random.pick(ms)))
}

fn start(random: &mut Random, fate: &Fate) -> Start {
    if !random.percent(fate.bad_starts) {
        let after = random.span(100);
        return match random.below(20) {
            0 | 1 => Start::ReadyButStays(after),
            2 => Start::ReadyButMute(after),
            _ => Start::ReadyAfter(after),
        };
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
    let (spec, runs) =
        (spec(random, config, fate), (0..1 + random.below(3)).map(|_| run(random, fate)).collect());
    match random.below(30) {
        0 => Deed::Broadcast(spec, runs),
        1 => Deed::Pin(random.below(100), spec, runs),
        _ => Deed::Submit(spec, runs),
    }
}

fn spec(random: &mut Random, config: &Config, fate: &Fate) -> CallSpec {
    // Now and then one more than a worker has.
    let most_slots = config.concurrency + u32::from(random.percent(3));
    let longest_grace = random.pick(&[0, 50, 2_000, 100_000]);
    CallSpec {
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
        affinity: (fate.affinity && random.percent(70)).then(|| random.below(5)),
        exclusive: fate.slots && random.percent(10),
        pinned: None,
        batch: batch(random, fate).map(Box::new),
        ahead: random.percent(fate.ahead),
    }
}

fn batch(random: &mut Random, fate: &Fate) -> Option<Batch> {
    (fate.batches && random.percent(70)).then(|| Batch {
        key: random.below(2),
        max: random.pick(&[1, 2, 3, 3, 8]),
        wait: Duration::from_millis(random.pick(&[0, 5, 50, 300])),
    })
}

fn declaration(random: &mut Random, fate: &Fate) -> Declaration {
    Declaration {
        idempotent: random.percent(50),
        timeout: maybe_span(random, 300),
        slots: random.percent(40).then(|| random.between(1, 3)),
        exclusive: random.percent(10),
        batch: batch(random, fate),
    }
}

fn run(random: &mut Random, fate: &Fate) -> Run {
    let after = if random.percent(fate.ahead * 2 / 3) {
        Duration::from_micros(random.below(700))
    } else {
        random.span(400)
    };
    let conduct = if !random.percent(fate.bad_runs) {
        if random.percent(20) {
            Conduct::Streams { every: after / 16, items: random.between(1, 32) }
        } else {
            Conduct::Answers(after)
        }
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
    match random.below(36) {
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
        24 => Deed::Lie(Lie::Pong(one)),
        25 => Deed::Lie(Lie::PongOfNobody(one)),
        26 | 27 => Deed::Lie(Lie::Memory(one, random.pick(&[0, MEMORY, 2 * MEMORY]))),
        28..=30 => Deed::Reload,
        31 => Deed::Headroom(random.pick(&[None, Some(0), Some(MEMORY), Some(1 << 40)])),
        32 | 33 => Deed::Warm(random.between(0, 6)),
        34 | 35 => Deed::Declare(one, declaration(random, fate)),
        22 if random.percent(20) => Deed::Close(maybe_span(random, 2_000)),
        23 if random.percent(10) => Deed::Terminate,
        _ => Deed::Cancel(other),
    }
}

fn ending(random: &mut Random) -> Ending {
    match random.below(3) {
        0 => Ending::Terminate,
        1 => Ending::Close(Some(random.span(5_000))),
        _ => {
            let patience = random.pick(&[2_000, 2_000, 100_000]);
            Ending::CloseThenTerminate(random.span(patience))
        }
    }
}

fn exit(random: &mut Random) -> Exit {
    random.pick(&[Exit::Code(0), Exit::Code(1), Exit::Signal(11), Exit::Signal(9), Exit::Unknown])
}

fn maybe_span(random: &mut Random, longest_ms: u64) -> Option<Duration> {
    random.percent(30).then(|| random.span(longest_ms))
}
