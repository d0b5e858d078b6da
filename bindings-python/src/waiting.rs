//! Waiting for the core with the interpreter free for other threads, and an ear for Ctrl-C.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ganger::{Call, CallId, Completion, Error, Outcome};
use pyo3::prelude::*;

/// Makes a call and waits for its outcome. An exception from a signal's handler, Ctrl-C first of all, cancels it.
pub(crate) fn outcome(py: Python<'_>, pool: &ganger::Pool, asked: Call) -> PyResult<Outcome> {
    let outcome = answer(py, None, |done| pool.submit(asked, done), |call| cancel(pool, call))?;
    Ok(outcome.unwrap_or_else(|| Err(Box::new(Error::pool_closed()))))
}

/// Waits until the pool has ended, which `begin` asks it to. An exception from a signal's handler ends it at once.
pub(crate) fn end(
    py: Python<'_>,
    pool: &ganger::Pool,
    begin: impl FnOnce(Box<dyn FnOnce() + Send>) + Send,
) -> PyResult<()> {
    let (sender, receiver) = sync_channel(1);
    let done = Box::new(move || {
        let _ = sender.send(());
    });
    received_by(py, None, || begin(done), receiver).map(drop).inspect_err(|_| {
        py.detach(|| pool.terminate(Box::new(|| {})));
    })
}

/// Waits until what `begin` begins is answered, at most so long; None if it was not. If it was not, or an exception from a signal's handler
/// came before, `give_up` gets what was begun.
pub(crate) fn answer<T: Send + 'static, Begun: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    begin: impl FnOnce(Box<dyn FnOnce(T) + Send>) -> Begun + Send,
    give_up: impl FnOnce(Begun) + Send,
) -> PyResult<Option<T>> {
    let (sender, receiver) = sync_channel(1);
    let done = Box::new(move |answer| {
        // Nobody waits any more if it took too long.
        let _ = sender.send(answer);
    });
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut begun = None;
    let answer = received_by(py, until, || begun = Some(begin(done)), receiver);
    if let (Err(_) | Ok(None), Some(begun)) = (&answer, begun) {
        py.detach(|| give_up(begun));
    }
    answer
}

/// Makes a call and waits until it has got room. An exception from a signal's handler cancels it.
pub(crate) fn admitted(
    py: Python<'_>,
    pool: &ganger::Pool,
    asked: Call,
    completion: Completion,
) -> PyResult<Option<CallId>> {
    let mut call = None;
    let begin = |admitted: Box<dyn FnOnce(()) + Send>| {
        call = pool.submit_noting(asked, completion, Some(Box::new(move || admitted(()))));
        call
    };
    answer(py, None, begin, |call| cancel(pool, call))?;
    Ok(call)
}

fn cancel(pool: &ganger::Pool, call: Option<CallId>) {
    if let Some(call) = call {
        pool.cancel(call);
    }
}

/// What arrives after `begin`; None when the time is up, or there is nobody left to send anything.
fn received_by<T: Send>(
    py: Python<'_>,
    until: Option<Instant>,
    begin: impl FnOnce() + Send,
    receiver: Receiver<T>,
) -> PyResult<Option<T>> {
    let (mut receiver, mut news) = py.detach(move || {
        begin();
        slice(receiver, until)
    });
    loop {
        match news {
            Ok(received) => return Ok(Some(received)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        (receiver, news) = py.detach(move || slice(receiver, until));
    }
}

/// A receiver belongs to one thread at a time, so it is handed along.
fn slice<T>(receiver: Receiver<T>, until: Option<Instant>) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    let left = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()));
    let news = receiver.recv_timeout(left.min(SLICE));
    (receiver, news)
}

/// How long Ctrl-C may go unnoticed.
pub(crate) const SLICE: Duration = Duration::from_millis(50);
