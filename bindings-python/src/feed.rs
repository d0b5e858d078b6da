//! Items of a Python app on their way into a running call.

use std::sync::{Arc, Mutex, PoisonError};

use ganger::error::ErrorCode;
use ganger::{Error, Input, Sent};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::bell::Bell;
use crate::boundary::guarded;
use crate::fate::{self, Fate};
use crate::marks::Marks;
use crate::memory::Block;
use crate::pool::Pool;
use crate::progress::Progress;
use crate::settle::Settler;
use crate::{encode, error};

/// The app's end of an input stream. Dropped unfinished it gives the call up.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Inputs {
    core: ganger::Inputs,
    pool: ganger::Pool,
    settler: &'static Settler,
    /// An item that there was no room for.
    pending: Mutex<Option<Input>>,
}

/// Makes a call that is given items while it runs and answers with one value.
#[pyfunction]
#[pyo3(signature = (pool, function, value, options, progress, /))]
pub(crate) fn submit_fed(
    pool: &Bound<'_, Pool>,
    function: &str,
    value: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
    progress: Option<&Bound<'_, Progress>>,
) -> PyResult<(fate::Call, Inputs)> {
    guarded(|| {
        let asked = pool.get().asked(function, value, options)?;
        let asked = ganger::Call { on_progress: progress.map(|it| it.get().observer()), ..asked };
        let (fate, core) = (Fate::new(pool.get().settler), &pool.get().core);
        let completion = {
            let fate = Arc::clone(&fate);
            Box::new(move |outcome| fate.settle(outcome))
        };
        let (call, inputs) = pool.py().detach(|| core.submit_with_inputs(asked, completion));
        Ok((fate::Call::new(core, call, fate), Inputs::new(pool.get(), inputs)))
    })
}

#[pymethods]
impl Inputs {
    /// Sends an item; `resend` goes on with one that there was no room for. None: it is on its way. `NOTHING`: no room yet. `OVER`: no items
    /// are wanted any more.
    fn send<'py>(&self, item: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        guarded(|| {
            let input = match item.cast::<Block>() {
                Ok(block) => block.get().input()?,
                Err(_) => encode::input(item, &self.pool).map_err(|refused| {
                    error::exception(item.py(), &refused.into_error(ErrorCode::InvalidInput, None))
                })?,
            };
            self.try_send(item.py(), input)
        })
    }

    fn resend<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        guarded(|| match self.pending().take() {
            Some(input) => self.try_send(py, input),
            None => Ok(None),
        })
    }

    /// Has the bell rung for a waiter when there may be room, or nothing is wanted any more.
    fn ring(&self, bell: &Bell, waiter: Py<PyAny>) {
        let ringer = bell.ringer();
        self.core.notify(Box::new(move || ringer.ring(waiter)));
    }

    /// The same for a future, which gets None then.
    fn tell(&self, py: Python<'_>, future: Py<PyAny>) {
        let settler = self.settler;
        py.detach(|| self.core.notify(Box::new(move || settler.tell(future, Ok(())))));
    }

    /// No item follows.
    fn finish(&self, py: Python<'_>) {
        py.detach(|| self.core.finish());
    }

    /// The source of the items has failed: so does the call.
    fn fail(&self, py: Python<'_>, why: String) {
        let failure = Error::new(ErrorCode::InvalidInput, format!("the source of the inputs failed: {why}"));
        py.detach(|| self.core.fail(Some(Box::new(failure))));
    }
}

impl Inputs {
    pub(crate) fn new(pool: &Pool, core: ganger::Inputs) -> Self {
        Self { core, pool: pool.core.clone(), settler: pool.settler, pending: Mutex::default() }
    }

    fn try_send<'py>(&self, py: Python<'py>, input: Input) -> PyResult<Option<Bound<'py, PyAny>>> {
        match py.detach(|| self.core.try_send(input)) {
            Ok(Sent::Taken) => Ok(None),
            Ok(Sent::Full(again)) => {
                *self.pending() = Some(again);
                Ok(Some(Marks::of(py)?.nothing(py)))
            }
            Ok(Sent::Over) => Ok(Some(Marks::of(py)?.over(py))),
            Err(failure) => Err(error::exception(py, &failure)),
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Option<Input>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
