//! How far a call is, on its way to the app that asked. A function may say it a million times: only the latest is told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ganger::ProgressObserver;
use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::settle::{Listener, Settler};

/// Of one call.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Progress(Arc<Mailbox>);

struct Mailbox {
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
                mailbox.settler.tell_progress(Arc::<Mailbox>::clone(&mailbox));
            }
        })
    }
}

impl Listener for Mailbox {
    fn tell_latest(&self, py: Python<'_>) -> PyResult<()> {
        let latest = {
            let mut news = self.news();
            news.rung = false;
            news.latest.take()
        };
        let Some(ganger::Progress { done, total, note }) = latest else { return Ok(()) };
        self.tell.call1(py, (done, total, note)).map(drop)
    }
}

impl Mailbox {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
