//! `ganger call`: one call of one function.

use std::future::poll_fn;

use ganger::options::{CallOptions, Surface};
use ganger::{Call, Contract, Stream};
use ganger_protocol::message::FunctionKind;
use serde_json::{Map, json};

use crate::arguments::CallArguments;
use crate::failure::Failure;
use crate::host::with_pool;
use crate::input;
use crate::interrupt::Interrupts;
use crate::items::Feeder;
use crate::output::Output;
use crate::progress::ProgressLine;
use crate::worker::{WorkerError, pool_options};

/// Does what the command line says.
pub(crate) fn run(arguments: &CallArguments) -> Result<(), Failure> {
    let words = Words::of(arguments)?;
    let pool = pool_options(words.worker, &arguments.worker)?;
    let options = call_options(arguments.timeout.as_deref())?;
    if words.input == Some("-") && arguments.items.as_deref() == Some("-") {
        return Err(Failure::Usage("the input and the items cannot both come from stdin".to_owned()));
    }
    let input = input::read(words.input, arguments.raw)?;
    let progress = ProgressLine::new(arguments.quiet);
    let call = Call { options, on_progress: progress.observer(), ..Call::new(words.function, input) };
    let shown = Shown { output: Output::new(arguments.raw), progress };
    with_pool(pool, arguments.quiet, async |host| {
        let many = yields_many(&host.functions().await?, words.function);
        match &arguments.items {
            None => shown.until_the_end(&mut host.interrupts, &host.pool.stream(call), many).await,
            Some(source) => {
                let (stream, inputs) = host.pool.stream_with_inputs(call);
                let feeder = Feeder::begin(source, inputs)?;
                let done = shown.until_the_end(&mut host.interrupts, &stream, many).await;
                feeder.failure().map_or(done, Err)
            }
        }
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

/// Where items and results go.
#[derive(Debug)]
struct Shown {
    output: Output,
    progress: ProgressLine,
}

impl Shown {
    /// Items are written as they come, and at the end the value of a function that gives one. A reader who leaves, and Ctrl-C, cancel
    /// the call: its stream is dropped.
    async fn until_the_end(
        &self,
        interrupts: &mut Interrupts,
        stream: &Stream,
        many: bool,
    ) -> Result<(), Failure> {
        loop {
            let batch = tokio::select! {
                batch = poll_fn(|context| stream.poll_take(context, MOST_ITEMS_AT_ONCE)) => batch,
                signal = interrupts.next() => return Err(Failure::Interrupted(signal)),
            };
            self.progress.hide();
            for item in batch.items {
                self.output.item(item.encoding, &item.payload)?;
            }
            match batch.end {
                None => {}
                Some(Ok(_)) if many => return Ok(()),
                Some(end) => {
                    let value = end?;
                    return self.output.result(value.encoding, &value.payload);
                }
            }
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
