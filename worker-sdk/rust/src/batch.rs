//! Functions that take the inputs of several calls at once, and how each call gets an end of its own.

use std::time::Duration;

use ganger_protocol::message::{Batch, ErrorReport, FunctionKind, code};
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::{BoxError, outcome_of};
use crate::function::{Body, Function, Handler, Input, Output, declared, outcome};
use crate::session::Outcome;
use crate::worker::Worker;

/// Runs calls together, and ends each: their numbers and inputs.
pub(crate) type Together = Box<dyn Fn(Vec<(u64, Input)>, &Context) -> Ends + Send + Sync>;

/// When the calls of a batch have ended.
pub(crate) enum Ends {
    Now,
    #[cfg(feature = "async")]
    Later(RunningBatch),
}

/// A future that runs an asynchronous function and ends its calls.
#[cfg(feature = "async")]
pub(crate) type RunningBatch = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a function of batches returns: a `Vec` of as many results as it was given inputs, each of which may be a
/// `Result` of its own; or a `Result` with such a `Vec`, whose error is that of every call.
pub trait Results {
    /// The result of one call.
    type Item;

    /// The results, or the error of all and the name of its type.
    ///
    /// # Errors
    /// The function's own error.
    fn into_results(self) -> Result<Vec<Self::Item>, (BoxError, &'static str)>;
}

impl<T> Results for Vec<T> {
    type Item = T;

    fn into_results(self) -> Result<Self, (BoxError, &'static str)> {
        Ok(self)
    }
}

impl<T, E: Into<BoxError> + 'static> Results for Result<Vec<T>, E> {
    type Item = T;

    fn into_results(self) -> Result<Vec<T>, (BoxError, &'static str)> {
        self.map_err(|error| (error.into(), std::any::type_name::<E>()))
    }
}

impl Function {
    /// A function that takes the inputs of several calls at once, `max` at most, and gives as many results, in their order. A call waits for
    /// others no longer than `wait`, and not at all where a worker has no room for it.
    ///
    /// Each call ends for itself: a wrong input never reaches the function, a result that is a `Result` may be the
    /// error of that call alone, and who gives up is let go while the others run. The [`Context`] is that of all: it is cancelled
    /// when nobody waits any more, and its progress is told to each.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use ganger_worker::{Function, Worker};
    /// let embed = |texts: Vec<String>| texts.iter().map(|text| text.len()).collect::<Vec<_>>();
    /// Worker::new().offer(Function::batch("embed", 32, Duration::from_millis(10), embed).idempotent(true)).run()
    /// ```
    ///
    /// # Panics
    /// If `max` is 0, or if the function takes [`Inputs`](crate::Inputs) or a [`Sender`](crate::Sender).
    pub fn batch<H, M, I, N>(name: impl Into<String>, max: u32, wait: Duration, handler: H) -> Self
    where
        H: Handler<M, Input = Vec<I>>,
        I: DeserializeOwned + 'static,
        H::Output: Results<Item: Output<N>>,
    {
        let body = move |calls: Vec<(u64, Input)>, context: &Context| {
            let (seqs, inputs) = read(calls, context);
            if !inputs.is_empty() {
                context.engine.finish_each(ends(seqs, handler.call(inputs, context.clone())));
            }
            Ends::Now
        };
        batched::<H, M>(name, max, wait, Box::new(body))
    }

    /// An asynchronous function of batches. A cancel of all calls drops its future.
    ///
    /// # Panics
    /// As [`batch`](Self::batch) does.
    #[cfg(feature = "async")]
    pub fn batch_async<H, M, I, N>(name: impl Into<String>, max: u32, wait: Duration, handler: H) -> Self
    where
        H: Handler<M, Input = Vec<I>>,
        I: DeserializeOwned + 'static,
        H::Output: Future<Output: Results<Item: Output<N>>> + Send + 'static,
    {
        let body = move |calls: Vec<(u64, Input)>, context: &Context| {
            let (seqs, inputs) = read(calls, context);
            if inputs.is_empty() {
                return Ends::Now;
            }
            let (running, context) = (handler.call(inputs, context.clone()), context.clone());
            Ends::Later(Box::pin(async move { context.engine.finish_each(ends(seqs, running.await)) }))
        };
        batched::<H, M>(name, max, wait, Box::new(body))
    }
}

impl Worker {
    /// Offers a function that takes the inputs of several calls at once; see [`Function::batch`].
    pub fn batch<H, M, I, N>(self, name: impl Into<String>, max: u32, wait: Duration, handler: H) -> Self
    where
        H: Handler<M, Input = Vec<I>>,
        I: DeserializeOwned + 'static,
        H::Output: Results<Item: Output<N>>,
    {
        self.offer(Function::batch(name, max, wait, handler))
    }

    /// Offers an asynchronous function that takes the inputs of several calls at once; see [`Function::batch_async`].
    #[cfg(feature = "async")]
    pub fn async_batch<H, M, I, N>(
        self,
        name: impl Into<String>,
        max: u32,
        wait: Duration,
        handler: H,
    ) -> Self
    where
        H: Handler<M, Input = Vec<I>>,
        I: DeserializeOwned + 'static,
        H::Output: Future<Output: Results<Item: Output<N>>> + Send + 'static,
    {
        self.offer(Function::batch_async(name, max, wait, handler))
    }
}

/// How each call ends whose input the function was given (R58).
pub(crate) fn ends<N, R: Results<Item: Output<N>>>(seqs: Vec<u64>, results: R) -> Vec<(u64, Outcome)> {
    let for_all = |outcome: Outcome| seqs.iter().map(|&seq| (seq, outcome.clone())).collect();
    match results.into_results() {
        Ok(results) if results.len() == seqs.len() => {
            seqs.into_iter().zip(results.into_iter().map(outcome)).collect()
        }
        Ok(results) => {
            let (count, given) = (seqs.len(), results.len());
            let message = format!("$: a batch of {count} needs as many results, not {given}");
            let mut report = ErrorReport::new(code::INVALID_RESULT, "", message);
            report.path = Some("$".to_owned());
            for_all(Outcome::Failed(Box::new(report)))
        }
        Err((error, type_name)) => for_all(outcome_of(&error, type_name)),
    }
}

/// The inputs that fit, and whose they are. The others have their answer.
fn read<I: DeserializeOwned + 'static>(calls: Vec<(u64, Input)>, context: &Context) -> (Vec<u64>, Vec<I>) {
    let (mut seqs, mut inputs) = (Vec::new(), Vec::new());
    for (seq, input) in calls {
        match input.decode() {
            Ok(input) => {
                seqs.push(seq);
                inputs.push(input);
            }
            Err(outcome) => context.engine.finish(seq, outcome),
        }
    }
    (seqs, inputs)
}

fn batched<H: Handler<M>, M>(name: impl Into<String>, max: u32, wait: Duration, body: Together) -> Function {
    assert!(max > 0, "a batch has one call at least");
    let mut function = declared::<H, M>(name).function(Body::Together(body));
    let contract = &mut function.contract;
    let gives_one = contract.kind == FunctionKind::Value && contract.inputs.is_none();
    assert!(gives_one, "{} has a batch: it can neither send items nor read an input stream", contract.name);
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    contract.batch = Some(Batch { max, wait_ms });
    function
}
