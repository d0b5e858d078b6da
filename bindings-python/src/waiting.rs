//! Waiting for the core with the interpreter free for other threads, and an ear for Ctrl-C.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ganger::{Call, CallId, Completion, Error, Outcome, Seat};
use pyo3::prelude::*;

/// Makes a call and waits for its outcome. An exception from a signal's handler, Ctrl-C first of all, cancels it.
pub(crate) fn outcome(py: Python<'_>, pool: &ganger::Pool, asked: Call) -> PyResult<Outcome> {
    let outcome = answer(py, pool, None, |done| pool.submit(asked, done), |call| cancel(pool, call))?;
    Ok(outcome.unwrap_or_else(|| Err(Box::new(Error::pool_closed()))))
}

/// Waits until the pool has ended, which `begin` asks it to. An exception from a signal's handler ends it at once.
pub(crate) fn end(
    py: Python<'_>,
    pool: &ganger::Pool,
    begin: impl FnOnce(Box<dyn FnOnce() + Send>) + Send,
) -> PyResult<()> {
    let (teller, told) = told_here(pool);
    let done = Box::new(move || teller.tell(()));
    received_by(py, None, || begin(done), &told).map(drop).inspect_err(|_| {
        py.detach(|| pool.terminate(Box::new(|| {})));
    })
}

/// Waits until what `begin` begins is answered, at most so long; None if it was not. If it was not, or an exception from a signal's handler
/// came before, `give_up` gets what was begun.
pub(crate) fn answer<T: Send + 'static, Begun: Send>(
    py: Python<'_>,
    pool: &ganger::Pool,
    limit: Option<Duration>,
    begin: impl FnOnce(Box<dyn FnOnce(T) + Send>) -> Begun + Send,
    give_up: impl FnOnce(Begun) + Send,
) -> PyResult<Option<T>> {
    let (teller, told) = told_here(pool);
    let done = Box::new(move |answer| teller.tell(answer));
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut begun = None;
    let answer = received_by(py, until, || begun = Some(begin(done)), &told);
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
    answer(py, pool, None, begin, |call| cancel(pool, call))?;
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
    told: &Told<T>,
) -> PyResult<Option<T>> {
    let mut news = py.detach(|| {
        begin();
        told.wait(until)
    });
    loop {
        match news {
            News::Come(received) => return Ok(Some(received)),
            News::Never => return Ok(None),
            News::None => py.check_signals()?,
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        news = py.detach(|| told.wait(until));
    }
}

/// What somebody will tell this thread.
struct Told<T> {
    news: Arc<Mutex<News<T>>>,
    seat: Arc<Seat>,
}

/// Dropped untold, it says that there will be nothing.
struct Teller<T> {
    news: Arc<Mutex<News<T>>>,
    seat: Arc<Seat>,
}

enum News<T> {
    None,
    Come(T),
    Never,
}

fn told_here<T>(pool: &ganger::Pool) -> (Teller<T>, Told<T>) {
    let (news, seat) = (Arc::new(Mutex::new(News::None)), pool.seat());
    (Teller { news: Arc::clone(&news), seat: Arc::clone(&seat) }, Told { news, seat })
}

impl<T> Teller<T> {
    fn tell(self, answer: T) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = News::Come(answer);
        self.seat.wake();
    }
}

impl<T> Drop for Teller<T> {
    fn drop(&mut self) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*news, News::None) {
            *news = News::Never;
            drop(news);
            self.seat.wake();
        }
    }
}

impl<T> Told<T> {
    /// Not longer than Ctrl-C may go unnoticed.
    fn wait(&self, until: Option<Instant>) -> News<T> {
        let left = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()));
        let news = || self.news.lock().unwrap_or_else(PoisonError::into_inner);
        self.seat.wait(left.min(SLICE), || !matches!(*news(), News::None));
        std::mem::replace(&mut *news(), News::None)
    }
}

/// How long Ctrl-C may go unnoticed.
pub(crate) const SLICE: Duration = Duration::from_millis(50);
