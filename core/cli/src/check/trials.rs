//! All trials, in the order in which they are run.

mod ahead;
mod batches;
mod calls;
mod cancels;
mod chunks;
mod frames;
mod inputs;
mod life;
mod memory;
mod payloads;
mod start;
mod streams;

pub(super) use streams::streams;

use super::bench::Bench;
use super::breach::Kept;
use crate::rules::Rule;

/// One conversation with the worker, or a few of the same kind.
#[derive(Debug)]
pub(super) struct Trial {
    /// The rules that are seen to be kept when it ends well.
    pub(super) shows: &'static [Rule],
    pub(super) needs: &'static [Need],
    pub(super) run: fn(&Bench) -> Kept,
}

/// What a trial cannot do without.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// A conformance function of this name.
    Function(&'static str),
    /// `check_count`, which sends its items one by one.
    Streams,
    /// `check_count`, which gives a list of them.
    NoStreams,
    /// It reads an input stream.
    Inputs(&'static str),
    /// `check_batch`, which takes as many calls at once as trials give it.
    Batches,
    SharedMemory,
    /// It claims calls that are handed over ahead.
    Ahead,
    Linux,
    Python,
    NotPython,
}

impl Need {
    /// What is missing, if something is.
    pub(super) fn missing(self, bench: &Bench) -> Option<String> {
        let contract = |name: &str| {
            let has = |contract: &&ganger_protocol::message::Contract| {
                contract.name.rsplit('.').next() == Some(name)
            };
            bench.functions.iter().find(has)
        };
        let (met, what) = match self {
            Need::Function(name) => (contract(name).is_some(), format!("the function {name}")),
            Need::Streams => {
                (bench.streams == Some(true), "the function check_count, which streams".to_owned())
            }
            Need::NoStreams => {
                (bench.streams == Some(false), "the function check_count, which does not stream".to_owned())
            }
            Need::Inputs(name) => {
                let reads = contract(name).is_some_and(|contract| contract.inputs.is_some());
                (reads, format!("the function {name}, which reads an input stream"))
            }
            Need::Batches => {
                let taken = contract("check_batch").and_then(|contract| contract.batch);
                let enough = taken.is_some_and(|batch| batch.max >= 4);
                (enough, "the function check_batch, which takes batches of four".to_owned())
            }
            Need::SharedMemory => (bench.hello.shared_memory, "shared memory".to_owned()),
            Need::Ahead => (bench.hello.ahead, "calls handed over ahead".to_owned()),
            Need::Linux => (cfg!(target_os = "linux"), "Linux".to_owned()),
            Need::Python => (bench.hello.language == "python", "a worker in Python".to_owned()),
            Need::NotPython => (bench.hello.language != "python", "a worker not in Python".to_owned()),
        };
        (!met).then_some(what)
    }
}

/// Every trial.
pub(super) fn all() -> impl Iterator<Item = &'static Trial> {
    [
        start::TRIALS,
        frames::TRIALS,
        chunks::TRIALS,
        calls::TRIALS,
        payloads::TRIALS,
        cancels::TRIALS,
        streams::TRIALS,
        inputs::TRIALS,
        batches::TRIALS,
        life::TRIALS,
        memory::TRIALS,
        ahead::TRIALS,
    ]
    .into_iter()
    .flatten()
}

const fn trial(shows: &'static [Rule], needs: &'static [Need], run: fn(&Bench) -> Kept) -> Trial {
    Trial { shows, needs, run }
}
