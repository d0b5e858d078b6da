//! Asynchronous functions, on a runtime that starts with the first of their calls.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use super::{Arc, Body, Engine, Outcome, Work, report_panic};
use crate::batch::RunningBatch;
use crate::context::Context;
use crate::function::Running;

impl Engine {
    /// Runs a future to its end, or until its call is cancelled: then it is dropped (R25).
    pub(super) fn run_async(self: &Arc<Self>, running: Result<Running, Outcome>, context: Context) {
        let seq = context.call();
        let future = match running {
            Ok(future) => caught(future),
            Err(outcome) => return self.finish(seq, outcome),
        };
        let engine = Arc::clone(self);
        self.runtime.get_or_init(start_runtime).spawn(async move {
            let outcome = tokio::select! {
                outcome = future => outcome,
                () = context.cancelled() => Outcome::Cancelled,
            };
            engine.finish(seq, outcome);
            engine.go_on();
        });
    }

    /// The same for calls that run together, which it ends itself.
    pub(super) fn run_batch_async(self: &Arc<Self>, running: RunningBatch, context: Context) {
        let engine = Arc::clone(self);
        let future = caught(Box::pin(async move {
            running.await;
            // Whichever has no end by now was never the function's.
            Outcome::Cancelled
        }));
        self.runtime.get_or_init(start_runtime).spawn(async move {
            let outcome = tokio::select! {
                outcome = future => outcome,
                () = context.cancelled() => Outcome::Cancelled,
            };
            engine.finish_all(&context, &outcome);
            engine.go_on();
        });
    }

    /// Begins the call whose turn has come with the end of an asynchronous one.
    fn go_on(self: &Arc<Self>) {
        while let Some(next) = self.next_in_line() {
            match (self.body(&next.1), next) {
                (Body::Async(_), (Work::Alone(run), call)) => self.run(*run, call),
                (Body::Async(_) | Body::Blocking(_) | Body::Together(_), next) => self.run_apart(next),
            }
        }
    }
}

/// The future, with a panic as an outcome.
fn caught(mut future: Running) -> impl Future<Output = Outcome> + Send {
    poll_fn(move |waker| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(waker))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Outcome::Failed(Box::new(report_panic(&*panic)))),
    })
}

fn start_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .thread_name("ganger-async")
        .enable_all()
        .build()
        .expect("the runtime of the asynchronous functions starts")
}
