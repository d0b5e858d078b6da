//! Completes futures, on a thread of its own: an app's callbacks may take their time, and the IO thread has none to give.
//!
//! Whatever was settled since the last turn is one batch: the interpreter is asked for once, and each event loop is woken once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ganger::{Error, Outcome};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::told::{told, told_all};
use crate::{error, interpreter};

/// The thread of this process, and what is handed to it.
pub(crate) struct Settler {
    queue: Mutex<Vec<Settled>>,
    news: Condvar,
}

enum Settled {
    Future(Py<PyAny>, News),
    Progress(Arc<dyn Listener>),
}

enum News {
    Outcome(Outcome),
    Outcomes(Vec<(u32, Outcome)>),
    So,
    Never(Box<Error>),
}

/// Somebody who is told what has come since the last time, on this thread.
pub(crate) trait Listener: Send + Sync {
    fn tell_latest(&self, py: Python<'_>) -> PyResult<()>;
}

impl Settler {
    /// This process's one. A forked child has its own: the thread of its parent's is not there.
    pub(crate) fn here(_attached: Python<'_>) -> PyResult<&'static Self> {
        // Only held while attached, and whoever forks in Python is attached: no child finds it locked.
        static HERE: Mutex<Option<(u32, &'static Settler)>> = Mutex::new(None);
        let mut here = HERE.lock().unwrap_or_else(PoisonError::into_inner);
        match *here {
            Some((pid, settler)) if pid == std::process::id() => Ok(settler),
            Some(_) | None => {
                let settler = Self::start()?;
                *here = Some((std::process::id(), settler));
                Ok(settler)
            }
        }
    }

    /// The future gets the outcome of its call.
    pub(crate) fn settle(&self, future: Py<PyAny>, outcome: Outcome) {
        self.add(Settled::Future(future, News::Outcome(outcome)));
    }

    /// The future gets worker, value and error of each.
    pub(crate) fn settle_all(&self, future: Py<PyAny>, outcomes: Vec<(u32, Outcome)>) {
        self.add(Settled::Future(future, News::Outcomes(outcomes)));
    }

    /// The future gets None, since what it waits for is so, or the error that says why it never will be.
    pub(crate) fn tell(&self, future: Py<PyAny>, verdict: Result<(), Box<Error>>) {
        let news = verdict.map_or_else(News::Never, |()| News::So);
        self.add(Settled::Future(future, news));
    }

    /// Somebody is told how far a call is.
    pub(crate) fn tell_progress(&self, listener: Arc<dyn Listener>) {
        self.add(Settled::Progress(listener));
    }

    fn start() -> PyResult<&'static Self> {
        let settler: &'static Self =
            Box::leak(Box::new(Self { queue: Mutex::new(Vec::new()), news: Condvar::new() }));
        let thread = std::thread::Builder::new().name("ganger-settle".to_owned());
        let started = thread.spawn(|| settler.run());
        started.map_err(|error| PyRuntimeError::new_err(format!("no thread to settle calls on: {error}")))?;
        Ok(settler)
    }

    fn add(&self, settled: Settled) {
        let mut queue = self.queue();
        queue.push(settled);
        if queue.len() == 1 {
            self.news.notify_one();
        }
    }

    fn run(&self) {
        loop {
            let batch = self.next_batch();
            if interpreter::with_python(|py| hand_over(py, &batch)).is_none() {
                // Nobody can be told any more, and to give the futures back takes an interpreter too.
                std::mem::forget(batch);
            }
        }
    }

    fn next_batch(&self) -> Vec<Settled> {
        let waiting = self.news.wait_while(self.queue(), |queue| queue.is_empty());
        std::mem::take(&mut *waiting.unwrap_or_else(PoisonError::into_inner))
    }

    fn queue(&self) -> MutexGuard<'_, Vec<Settled>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hand_over(py: Python<'_>, batch: &[Settled]) {
    static SETTLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let told = SETTLE.import(py, "ganger.awaiting", "settle").and_then(|settle| {
        let list = PyList::empty(py);
        for settled in batch {
            match settled {
                Settled::Future(future, news) => list.append(news.for_python(py, future)?)?,
                Settled::Progress(listener) => {
                    listener.tell_latest(py).unwrap_or_else(|error| error.write_unraisable(py, None))
                }
            }
        }
        settle.call1((list,))
    });
    if let Err(error) = told {
        error.write_unraisable(py, None);
    }
}

impl News {
    /// The future, its value, and its error if it has one.
    fn for_python<'py>(&self, py: Python<'py>, future: &Py<PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let none = || py.None().into_bound(py);
        let (value, error) = match self {
            News::So => (none(), none()),
            News::Never(failure) => (none(), error::instance(py, failure)?),
            News::Outcome(outcome) => told(py, outcome)?,
            News::Outcomes(outcomes) => (told_all(py, outcomes)?, none()),
        };
        (future, value, error).into_bound_py_any(py)
    }
}
