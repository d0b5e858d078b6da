//! Waiting for the core with the interpreter free for other threads, and an ear for Ctrl-C.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use ganger::{Call, Error, Outcome};
use pyo3::prelude::*;

/// Makes a call and waits for its outcome. An exception from a signal's handler, Ctrl-C first of all, cancels it.
pub(crate) fn outcome(py: Python<'_>, pool: &ganger::Pool, asked: Call) -> PyResult<Outcome> {
    let (sender, receiver) = sync_channel(1);
    let mut call = None;
    let begin = || call = pool.submit(asked, Box::new(move |outcome| drop(sender.send(outcome))));
    match received(py, begin, receiver) {
        Ok(outcome) => Ok(outcome.unwrap_or_else(|| Err(Box::new(Error::pool_closed())))),
        Err(interrupt) => {
            if let Some(call) = call {
                py.detach(|| pool.cancel(call));
            }
            Err(interrupt)
        }
    }
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
    received(py, || begin(done), receiver).map(drop).inspect_err(|_| {
        py.detach(|| pool.terminate(Box::new(|| {})));
    })
}

/// What arrives after `begin`; None if there is nobody left to send anything.
fn received<T: Send>(
    py: Python<'_>,
    begin: impl FnOnce() + Send,
    receiver: Receiver<T>,
) -> PyResult<Option<T>> {
    let (mut receiver, mut news) = py.detach(move || {
        begin();
        slice(receiver)
    });
    loop {
        match news {
            Ok(received) => return Ok(Some(received)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
        (receiver, news) = py.detach(move || slice(receiver));
    }
}

/// A receiver belongs to one thread at a time, so it is handed along.
fn slice<T>(receiver: Receiver<T>) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    let news = receiver.recv_timeout(SLICE);
    (receiver, news)
}

/// How long Ctrl-C may go unnoticed.
const SLICE: Duration = Duration::from_millis(50);
