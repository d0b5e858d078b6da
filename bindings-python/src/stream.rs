//! The items of a call on their way to a Python app: held as they came, and made values of one by one, when they are asked for.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ganger::{Batch, Outcome, Reply};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::bell::Bell;
use crate::boundary::guarded;
use crate::feed::Inputs;
use crate::marks::Marks;
use crate::pool::Pool;
use crate::progress::Progress;
use crate::waiting::SLICE;
use crate::{decode, error};

/// A call whose items are taken one after the other. Dropped before its end it is given up.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Stream {
    core: ganger::Stream,
    held: Mutex<Held>,
    made_in: u32,
}

#[derive(Default)]
struct Held {
    items: VecDeque<Reply>,
    end: Option<Outcome>,
    /// Taken out since the worker was last told that it may go on.
    used: usize,
    /// What the function returned beside its items.
    value: Option<Py<PyAny>>,
    /// The app has left: there is nothing more for it, not even an error.
    left: bool,
}

/// Makes a call of a function that yields, and an end to send items into it if it is `fed`.
#[pyfunction]
#[pyo3(signature = (pool, function, value, options, fed, progress, /))]
pub(crate) fn stream(
    pool: &Bound<'_, Pool>,
    function: &str,
    value: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
    fed: bool,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<(Stream, Option<Inputs>)> {
    guarded(|| {
        let asked = pool.get().asked(function, value, options)?;
        let asked = ganger::Call { on_progress: progress.map(|it| it.get().observer()), ..asked };
        let core = &pool.get().core;
        let (core_stream, inputs) = pool.py().detach(|| match fed {
            true => {
                let (stream, inputs) = core.stream_with_inputs(asked);
                (stream, Some(inputs))
            }
            false => (core.stream(asked), None),
        });
        let inputs = inputs.map(|inputs| Inputs::new(pool.get(), inputs));
        let made_in = std::process::id();
        Ok((Stream { core: core_stream, held: Mutex::default(), made_in }, inputs))
    })
}

#[pymethods]
impl Stream {
    /// The next item, or `OVER`, or, unless it may wait, `NOTHING`. Raises why the call failed, after the items before that.
    fn next<'py>(&self, py: Python<'py>, wait: bool) -> PyResult<Bound<'py, PyAny>> {
        // What has come already is the parent's, too.
        if self.made_in != std::process::id() {
            return Err(error::exception(py, &ganger::Error::forked()));
        }
        guarded(|| {
            loop {
                if let Some(item) = self.held_item() {
                    return decode::reply(py, &item);
                }
                let end = self.held().end.take();
                if let Some(end) = end {
                    return self.ended(py, end);
                }
                let come = self.core.take_ahead(AT_ONCE);
                if !come.is_empty() {
                    self.hold(come);
                } else if self.core.is_over() {
                    return Ok(Marks::of(py)?.over(py));
                } else if !wait {
                    return Ok(Marks::of(py)?.nothing(py));
                } else {
                    self.wait(py)?;
                }
            }
        })
    }

    /// What the function returned beside its items, once it is over; told once.
    fn value(&self) -> Option<Py<PyAny>> {
        self.held().value.take()
    }

    /// Has the bell rung for a reader that waits when there is something to take; at once if there is.
    fn ring(&self, bell: &Bell, waiter: Py<PyAny>) {
        let ringer = bell.ringer();
        self.core.notify(Box::new(move || ringer.ring(waiter)));
    }

    /// Gives the call up. What was not taken is dropped, and nothing more comes.
    fn close(&self, py: Python<'_>) {
        {
            let mut held = self.held();
            held.items.clear();
            held.left = true;
        }
        py.detach(|| self.core.cancel());
    }
}

impl Stream {
    fn held_item(&self) -> Option<Reply> {
        let (item, used) = {
            let mut held = self.held();
            let item = held.items.pop_front()?;
            held.used += 1;
            // The rest may be a long time coming.
            let due = held.items.is_empty() || held.used >= GRANTED_AT;
            (item, if due { std::mem::take(&mut held.used) } else { 0 })
        };
        self.core.grant(used);
        Some(item)
    }

    fn hold(&self, come: Batch) {
        let mut held = self.held();
        if !held.left {
            held.items.extend(come.items);
        }
        held.end = come.end;
    }

    fn ended<'py>(&self, py: Python<'py>, end: Outcome) -> PyResult<Bound<'py, PyAny>> {
        match end {
            Err(failure) if !self.held().left => return Err(error::exception(py, &failure)),
            Err(_) => {}
            Ok(value) => self.held().value = Some(decode::reply(py, &value)?.unbind()),
        }
        Ok(Marks::of(py)?.over(py))
    }

    /// Until something has come, or for as long as Ctrl-C may go unnoticed. An exception from a signal's handler gives the call up.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        // None of it is taken here: what is taken this way counts as used.
        if let Some(come) = py.detach(|| self.core.take_blocking(0, Some(SLICE))) {
            self.hold(come);
        }
        py.check_signals().inspect_err(|_| self.close(py))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the worker may be ahead, so that one look takes all there is.
const AT_ONCE: usize = 64;
/// Often enough that a worker never waits for an app that reads.
const GRANTED_AT: usize = 16;
