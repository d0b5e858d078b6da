//! Random commands, faults and seeds against the laws that the observer checks after every step. `GANGER_HISTORIES` sets how
//! many, `GANGER_SEED` with which they begin. A seed that fails is cut down to few commands and printed; `GANGER_SEED` without
//! a number of histories runs that one alone.

mod chance;
mod commands;
mod many;
mod shrink;

use std::time::Duration;

use ganger_scheduler::{Config, PoolPhase};

use crate::simulator::{Broken, History, Simulator};
use commands::{Deed, Ending, Story};
use many::FailedSeed;

const USUAL_HISTORIES: u64 = 10_000;

#[test]
#[expect(clippy::print_stdout, reason = "a long run that ended well says what it did")]
fn every_random_history_keeps_every_law() {
    let (seed, count) = match (number("GANGER_SEED"), number("GANGER_HISTORIES")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (0, count.unwrap_or(USUAL_HISTORIES)),
    };
    match many::play_all(seed..seed + count) {
        Ok(steps) => {
            println!("{count} histories from seed {seed} kept every law, in {steps} steps");
            assert!(
                count == 1 || steps as u64 / count >= 80,
                "{steps} steps in {count} histories show little"
            );
        }
        Err(FailedSeed(seed)) => panic!("{}", report(seed)),
    }
}

#[test]
fn a_law_that_is_broken_is_found_and_cut_down() {
    // As if it were a law that no worker is ever started.
    let broken = |story: &Story| {
        play(story).is_ok_and(|history| history.words().iter().any(|words| words.starts_with("spawn")))
    };
    let story = (0..).map(Story::from_seed).find(broken).expect("some seed starts a worker");
    let small = shrink::cut_down(story, broken);
    let submissions =
        small.commands.iter().filter(|command| matches!(command.deed, Deed::Submit(..))).count();
    assert_eq!(
        (small.commands.len(), submissions, small.starts.len()),
        (1, 1, 0),
        "one submission is enough"
    );
}

/// A history that keeps the laws.
pub(crate) fn history_of(seed: u64) -> (Config, History) {
    let story = Story::from_seed(seed);
    let history = play(&story).unwrap_or_else(|Broken(text)| panic!("{text}"));
    (story.config, history)
}

/// Plays a story to its end and holds its history to the laws about ends.
fn play(story: &Story) -> Result<History, Broken> {
    let mut simulator = Simulator::new(story.config.clone());
    simulator.script_starts(story.starts.iter().copied());
    if let Some(footprint) = story.footprint {
        simulator.sample(footprint);
    }
    if let Some(lag) = story.claims {
        simulator.claim(lag);
    }
    let verdict = live(&mut simulator, story);
    match verdict {
        Ok(()) => Ok(simulator.into_history()),
        Err(Broken(text)) => Err(Broken(format!("{text}\n{}", simulator.history()))),
    }
}

fn live(simulator: &mut Simulator, story: &Story) -> Result<(), Broken> {
    for command in &story.commands {
        simulator.try_run_for(command.wait)?;
        command.deed.do_to(simulator)?;
    }
    match story.ending {
        Ending::Terminate => Deed::Terminate.do_to(simulator)?,
        Ending::Close(timeout) => Deed::Close(timeout).do_to(simulator)?,
        // Whatever waits is either finished by itself or ended at last.
        Ending::CloseThenTerminate(patience) => {
            Deed::Close(None).do_to(simulator)?;
            simulator.try_run_for(patience)?;
            Deed::Terminate.do_to(simulator)?;
        }
    }
    simulator.try_run_for(Duration::from_secs(3_600))?;
    if simulator.scheduler().phase() != PoolPhase::Closed || !simulator.observer().all_settled() {
        return Err(Broken("the pool never closed".into()));
    }
    match simulator.history().first_difference(simulator.config()) {
        None => Ok(()),
        Some(step) => Err(Broken(format!("the same inputs gave other actions at step {step}"))),
    }
}

fn report(seed: u64) -> String {
    let small = shrink::cut_down(Story::from_seed(seed), |story| shrink::tried(story).is_err());
    let reason = shrink::tried(&small).expect_err("it failed a line ago");
    format!(
        "seed {seed} breaks a law; replay it with\n  GANGER_SEED={seed} cargo test -p ganger-scheduler properties\n\
         {} commands are enough, with {:?} and {:?}:\n{reason}",
        small.commands.len(),
        small.config,
        small.starts,
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "the length of the run is the runner's choice, not the scheduler's"
)]
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}
