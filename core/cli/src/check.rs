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
mod rules;
mod trials;
mod verdicts;
mod wire;

use std::io::{self, Write};

use ganger::options::duration;

use crate::arguments::CheckArguments;
use crate::failure::Failure;
use bench::{Bench, Setup, hear_ready};
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
        verdicts.breaks(breach);
        return Ok(verdicts);
    }
    match trials::streams(bench) {
        Ok(streams) => bench.streams = streams,
        Err(breach) => verdicts.breaks(breach),
    }
    for trial in trials::all() {
        if !asked_for.is_empty() && !trial.shows.iter().any(|rule| asked_for.contains(rule)) {
            continue;
        }
        if let Some(what) = trial.needs.iter().find_map(|need| need.missing(bench)) {
            verdicts.lacks(trial, &what);
            continue;
        }
        match (trial.run)(bench) {
            Ok(()) => verdicts.keeps(trial),
            Err(breach) => verdicts.breaks(breach),
        }
    }
    Ok(verdicts)
}

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
