//! `ganger check`: a host that speaks the protocol to any worker, rule by rule, and says which it keeps.
//!
//! `process` starts the worker, `wire` and `ledger` hold every frame to what frames must be, `link` is one conversation, `bench` brings
//! a worker as far as a trial wants it, and `trials` are the conversations themselves.

mod arenas;
mod attach;
mod bench;
mod breach;
mod describe;
mod ledger;
mod link;
mod process;
mod tokens;
mod trials;
mod verdicts;
mod wire;

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use ganger::options::duration;

use crate::arguments::CheckArguments;
use crate::failure::Failure;
use bench::{Bench, Setup, hear_ready};
use trials::Trial;
use verdicts::Verdicts;

/// Does what the command line says. Whether every rule was kept is the exit code's to say.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let patience = duration::parse(&arguments.timeout).ok_or_else(|| {
        Failure::Usage(format!("--timeout is {:?}, but must be a time such as 10s", arguments.timeout))
    })?;
    let mut bench = Bench::new(arguments.command.clone(), patience);
    let verdicts = check(&mut bench, &arguments.rule)?;
    let mut stdout = io::stdout().lock();
    if arguments.json {
        writeln!(stdout, "{:#}", verdicts.to_json(&bench.hello, &arguments.rule))?;
    } else {
        for line in verdicts.lines(&arguments.rule) {
            writeln!(stdout, "{line}")?;
        }
    }
    stdout.flush()?;
    if verdicts.all_kept() { Ok(()) } else { Err(Failure::RulesBroken) }
}

/// Without a handshake there is nothing to try.
fn check(bench: &mut Bench, asked_for: &[u8]) -> Result<Verdicts, Failure> {
    let mut verdicts = Verdicts::default();
    if let Err(breach) = acquaint(bench)? {
        verdicts.gives_up(breach);
        return Ok(verdicts);
    }
    match trials::streams(bench) {
        Ok(streams) => bench.streams = streams,
        Err(breach) => verdicts.breaks(breach),
    }
    let wanted =
        |trial: &&Trial| asked_for.is_empty() || trial.shows.iter().any(|rule| asked_for.contains(rule));
    let trials: Vec<&Trial> = trials::all().filter(wanted).collect();
    for (trial, end) in trials.iter().zip(hold(bench, &trials)) {
        match end {
            End::Kept => verdicts.keeps(trial),
            End::Broken(breach) => verdicts.breaks(breach),
            End::Lacking(what) => verdicts.lacks(trial, &what),
        }
    }
    Ok(verdicts)
}

/// How a trial ended.
#[derive(Debug)]
enum End {
    Kept,
    Broken(breach::Breach),
    Lacking(String),
}

/// A few trials at a time: they mostly wait for a worker to start or to end. The ends are in the order of the trials.
fn hold(bench: &Bench, trials: &[&Trial]) -> Vec<End> {
    let next = AtomicUsize::new(0);
    let hold_some = || {
        let mut ends = Vec::new();
        while let Some((place, trial)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|place| Some((place, trials.get(place)?)))
        {
            ends.push((place, held(bench, trial)));
        }
        ends
    };
    let mut ends: Vec<(usize, End)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(hold_some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a trial does not panic")).collect()
    });
    ends.sort_by_key(|(place, _)| *place);
    ends.into_iter().map(|(_, end)| end).collect()
}

fn held(bench: &Bench, trial: &Trial) -> End {
    match trial.needs.iter().find_map(|need| need.missing(bench)) {
        Some(what) => End::Lacking(what),
        None => match (trial.run)(bench) {
            Ok(()) => End::Kept,
            Err(breach) => End::Broken(breach),
        },
    }
}

const AT_A_TIME: usize = 4;

/// Learns who the worker is and what it offers.
fn acquaint(bench: &mut Bench) -> Result<breach::Kept, Failure> {
    let greeted = bench.greeted(&Setup::default());
    let (mut link, hello) = match greeted {
        Ok(greeted) => greeted,
        Err(breach) => match breach.came.split_once("ganger-shim: ") {
            Some((_, why)) => return Err(Failure::NotStarted(why.trim_end_matches('"').to_owned())),
            None => return Ok(Err(breach)),
        },
    };
    let functions = match hear_ready(&mut link) {
        Ok(functions) => functions,
        Err(breach) => return Ok(Err(breach)),
    };
    (bench.hello, bench.functions) = (hello, functions);
    Ok(Ok(()))
}
