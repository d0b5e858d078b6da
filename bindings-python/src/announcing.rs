//! Telling listeners what happened, on the thread that core has for it.

use std::cell::Cell;

use ganger::events::Event;
use ganger::options::Surface;
use pyo3::prelude::*;

use crate::plain;

/// Of lines that workers print and log, only those from `source`, if it is given.
pub(crate) fn is_from(event: &Event, source: Option<&str>) -> bool {
    match (event, source) {
        (_, None) => true,
        (Event::WorkerLog(line), Some(source)) => line.source.as_str() == source,
        (_, Some(_)) => false,
    }
}

/// Tells a listener. One that raises is reported as Python reports what nobody catches.
pub(crate) fn announce(py: Python<'_>, event: &Event, tell: &Py<PyAny>) {
    SPEAKING.set(true);
    let told = plain::object(py, &event.to_value(Surface::Python)).and_then(|data| tell.call1(py, (data,)));
    SPEAKING.set(false);
    if let Err(error) = told {
        error.write_unraisable(py, Some(tell.bind(py)));
    }
}

/// Whether this thread is telling a listener something.
pub(crate) fn is_announcing() -> bool {
    SPEAKING.get()
}

thread_local! {
    static SPEAKING: Cell<bool> = const { Cell::new(false) };
}
