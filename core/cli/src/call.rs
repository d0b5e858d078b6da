//! `ganger call`: one call of one function.

use std::future::poll_fn;

use ganger::options::{CallOptions, Surface};
use ganger::{Call, Contract, Reply};
use ganger_protocol::message::FunctionKind;
use serde_json::{Map, json};

use crate::arguments::CallArguments;
use crate::failure::Failure;
use crate::host::{Host, with_pool};
use crate::input;
use crate::output::Output;
use crate::progress::ProgressLine;
use crate::worker::{WorkerError, pool_options};

/// Does what the command line says.
pub(crate) fn run(arguments: &CallArguments) -> Result<(), Failure> {
    let words = Words::of(arguments)?;
    let pool = pool_options(words.worker, &arguments.worker)?;
    let options = call_options(arguments.timeout.as_deref())?;
    let input = input::read(words.input, arguments.raw)?;
    let progress = if arguments.quiet { None } else { ProgressLine::new() };
    let on_progress = progress.as_ref().and_then(ProgressLine::observer);
    let call = Call { options, on_progress, ..Call::new(words.function, input) };
    let output = Output::new(arguments.raw);
    with_pool(pool, arguments.quiet, async |host| {
        if yields_many(&host.functions().await?, words.function) {
            return streamed(host, call, output).await;
        }
        let reply = made(host, call).await?;
        output.result(reply.encoding, &reply.payload)
    })
}

/// What the words of the command line are.
#[derive(Debug, PartialEq, Eq)]
struct Words<'a> {
    /// None: the worker is a command.
    worker: Option<&'a str>,
    function: &'a str,
    input: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn of(arguments: &'a CallArguments) -> Result<Self, Failure> {
        let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
        match (arguments.worker.command.is_empty(), words.as_slice()) {
            (true, &[worker, function]) => Ok(Words { worker: Some(worker), function, input: None }),
            (true, &[worker, function, input]) => {
                Ok(Words { worker: Some(worker), function, input: Some(input) })
            }
            (false, &[function]) => Ok(Words { worker: None, function, input: None }),
            (false, &[function, input]) => Ok(Words { worker: None, function, input: Some(input) }),
            (true, _) => Err(Failure::Usage(
                "which function? `ganger functions WORKER` lists those of a worker".to_owned(),
            )),
            (false, _) => Err(Failure::Usage(
                "with a command after `--` there is no other worker: ganger call FUNCTION [INPUT] -- COMMAND…"
                    .to_owned(),
            )),
        }
    }
}

fn call_options(timeout: Option<&str>) -> Result<CallOptions, Failure> {
    let written = timeout.map(|timeout| ("timeout".to_owned(), json!(timeout)));
    let map: Map<_, _> = written.into_iter().collect();
    Ok(CallOptions::parse(&map, Surface::Rust).map_err(WorkerError::from)?)
}

async fn made(host: &mut Host, call: Call) -> Result<Reply, Failure> {
    tokio::select! {
        outcome = host.pool.call(call) => Ok(outcome?),
        // Dropping the call's future cancels it.
        signal = host.interrupts.next() => Err(Failure::Interrupted(signal)),
    }
}

/// Each item is written as it comes; a reader who leaves cancels the call.
async fn streamed(host: &mut Host, call: Call, output: Output) -> Result<(), Failure> {
    let stream = host.pool.stream(call);
    loop {
        let batch = tokio::select! {
            batch = poll_fn(|context| stream.poll_take(context, MOST_ITEMS_AT_ONCE)) => batch,
            signal = host.interrupts.next() => return Err(Failure::Interrupted(signal)),
        };
        for item in batch.items {
            output.item(item.encoding, &item.payload)?;
        }
        if let Some(end) = batch.end {
            return Ok(end.map(drop)?);
        }
    }
}

/// What is written before Ctrl-C is looked for again.
const MOST_ITEMS_AT_ONCE: usize = 64;

/// A worker of one file knows `convert` as `prices.convert`, too.
fn yields_many(contracts: &[Contract], function: &str) -> bool {
    let bare = function.rsplit('.').next();
    let named = |contract: &&Contract| contract.name == function || Some(contract.name.as_str()) == bare;
    contracts.iter().find(named).is_some_and(|contract| contract.kind == FunctionKind::Stream)
}
