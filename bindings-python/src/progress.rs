//! How far a call is, on its way to the app that asked. A function may say it a million times: only the latest is told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ganger::ProgressObserver;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::boundary::guarded;
use crate::fate;
use crate::pool::Pool;
use crate::settle::Settler;

/// Of one call.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Progress(Arc<Mailbox>);

pub(crate) struct Mailbox {
    /// Called with done, total and note.
    tell: Py<PyAny>,
    settler: &'static Settler,
    news: Mutex<News>,
}

#[derive(Default)]
struct News {
    latest: Option<ganger::Progress>,
    /// The settling thread knows that there is something.
    rung: bool,
}

/// Makes a call that says how far it is, for a future to hold. In a full queue it may `wait` for room.
#[pyfunction]
#[pyo3(signature = (pool, function, value, options, wait, progress, /))]
pub(crate) fn submit_told(
    pool: &Bound<'_, Pool>,
    function: &str,
    value: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
    wait: bool,
    progress: &Bound<'_, Progress>,
) -> PyResult<fate::Call> {
    guarded(|| {
        let asked = pool.get().asked(function, value, options)?;
        let asked = ganger::Call { on_progress: Some(progress.get().observer()), ..asked };
        pool.get().send(pool.py(), asked, wait)
    })
}

#[pymethods]
impl Progress {
    #[new]
    fn new(py: Python<'_>, tell: Py<PyAny>) -> PyResult<Self> {
        Ok(Self(Arc::new(Mailbox { tell, settler: Settler::here(py)?, news: Mutex::default() })))
    }

    /// Tells what was not told yet, on this thread.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.0.tell_latest(py)
    }
}

impl Progress {
    pub(crate) fn observer(&self) -> ProgressObserver {
        let mailbox = Arc::clone(&self.0);
        ProgressObserver::new(move |progress| {
            let mut news = mailbox.news();
            news.latest = Some(progress.clone());
            if !std::mem::replace(&mut news.rung, true) {
                drop(news);
                mailbox.settler.tell_progress(Arc::clone(&mailbox));
            }
        })
    }
}

impl Mailbox {
    pub(crate) fn tell_latest(&self, py: Python<'_>) -> PyResult<()> {
        let latest = {
            let mut news = self.news();
            news.rung = false;
            news.latest.take()
        };
        let Some(ganger::Progress { done, total, note }) = latest else { return Ok(()) };
        self.tell.call1(py, (done, total, note)).map(drop)
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
