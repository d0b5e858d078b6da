//! What becomes of a call, as its future holds it.
//!
//! As long as nobody needs more than the result, the outcome stays here and costs no thread's attention: a thread that waits for it is
//! woken by the one that read the reply, a task that awaits it by the bell of its loop. Once somebody wants what the standard library's
//! futures have, callbacks first of all, the future is handed over and the settling thread completes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ganger::stats::CallState;
use ganger::{CallId, Error, Outcome, Seat};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::bell::{Bell, Ringer};
use crate::settle::Settler;
use crate::told::{Told, told};
use crate::waiting::SLICE;

/// A call that was made.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Call {
    core: ganger::Pool,
    /// 0 for one that was refused at once.
    id: u64,
    fate: Arc<Fate>,
    made_in: u32,
}

/// Shared with the core, which tells the outcome.
pub(crate) struct Fate {
    state: Mutex<State>,
    settler: &'static Settler,
}

enum State {
    /// Threads wait for it, and tasks that have their loops' bells rung.
    Open(Waiters),
    /// The future has become a standard one: it gets the outcome.
    Handed(Py<PyAny>),
    Known(Outcome),
    /// The future has it.
    Taken,
}

#[derive(Default)]
struct Waiters {
    threads: Vec<Arc<Seat>>,
    tasks: Vec<(Arc<Ringer>, Py<PyAny>)>,
}

#[pymethods]
impl Call {
    /// Waits as long as nobody knows the outcome and nobody has taken the future over; says what is left of the time.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<f64>> {
        // An endless time is none.
        let span = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
        let until = span.and_then(|span| Instant::now().checked_add(span));
        let left = || until.map(|until| until.saturating_duration_since(Instant::now()));
        if !self.is_forked() && self.fate.is_open() {
            let seat = self.core.seat();
            while py.detach(|| self.fate.wait(&seat, left().map_or(SLICE, |left| left.min(SLICE)))) {
                py.check_signals()?;
                if left() == Some(Duration::ZERO) {
                    break;
                }
            }
        }
        Ok(left().map(|left| left.as_secs_f64()))
    }

    /// Has the bell rung for a task that waits when the outcome is known. False if that is so already, or the future is a standard one.
    fn ring(&self, bell: &Bell, waiter: Py<PyAny>) -> bool {
        if self.is_forked() {
            return false;
        }
        match &mut *self.fate.lock() {
            State::Open(waiters) => {
                waiters.tasks.push((bell.ringer(), waiter));
                true
            }
            State::Handed(_) | State::Known(_) | State::Taken => false,
        }
    }

    /// The value and the error, one of them None; None for both while nobody knows. They stay until they are published.
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Told<'py>>> {
        let Some(outcome) = self.known() else { return Ok(None) };
        told(py, &outcome).map(Some)
    }

    /// Gives the future the fields of a standard one, unless it has them: those of the outcome if that is `known`, else all, to be settled
    /// later. Nothing can come between: no other thread, no signal's handler.
    fn publish(&self, future: &Bound<'_, PyAny>, fields: &Bound<'_, PyDict>, known: bool) -> PyResult<()> {
        let py = future.py();
        let attributes = future.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
        if attributes.contains(intern!(py, "_state"))? {
            return Ok(());
        }
        if self.is_forked() {
            return attributes.update(fields.as_mapping());
        }
        let mut state = self.fate.lock();
        match (&mut *state, known) {
            (State::Open(waiters), false) => {
                let Waiters { threads, tasks } = std::mem::take(waiters);
                let tasks = PyList::new(py, tasks.into_iter().map(|(_, waiter)| waiter))?;
                fields.set_item(intern!(py, "_waiters_in_loops"), tasks)?;
                attributes.update(fields.as_mapping())?;
                *state = State::Handed(future.clone().unbind());
                drop(state);
                threads.iter().for_each(|seat| seat.wake());
            }
            (State::Known(_), true) => {
                attributes.update(fields.as_mapping())?;
                *state = State::Taken;
            }
            // The outcome has come in between: look again.
            (State::Known(_), false) => return Ok(()),
            (State::Open(_) | State::Handed(_) | State::Taken, _) => {
                unreachable!("what was known stays so, and a future that was published has its fields")
            }
        }
        Ok(())
    }

    /// Gives the call up.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.core.cancel(CallId(self.id)));
    }

    /// Whether a worker has it now.
    fn running(&self, py: Python<'_>) -> bool {
        let calls = py.detach(|| self.core.calls());
        calls.iter().any(|call| call.id == self.id && call.state == CallState::Running)
    }
}

impl Call {
    pub(crate) fn new(core: &ganger::Pool, id: Option<CallId>, fate: Arc<Fate>) -> Self {
        Self { core: core.clone(), id: id.map_or(0, |id| id.0), fate, made_in: std::process::id() }
    }

    /// In a forked child: not even a lock may be waited for, its holder may not exist there.
    fn is_forked(&self) -> bool {
        self.made_in != std::process::id()
    }

    fn known(&self) -> Option<Outcome> {
        if self.is_forked() {
            return Some(Err(Box::new(Error::forked())));
        }
        match &*self.fate.lock() {
            State::Known(outcome) => Some(outcome.clone()),
            State::Open(_) | State::Handed(_) | State::Taken => None,
        }
    }
}

impl Fate {
    pub(crate) fn new(settler: &'static Settler) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::Open(Waiters::default())), settler })
    }

    /// The outcome has come. Called once, on any thread.
    pub(crate) fn settle(&self, outcome: Outcome) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Open(Waiters { threads, tasks }) => {
                *state = State::Known(outcome);
                drop(state);
                threads.iter().for_each(|seat| seat.wake());
                tasks.into_iter().for_each(|(ringer, waiter)| ringer.ring(waiter));
            }
            State::Handed(future) => {
                drop(state);
                self.settler.settle(future, outcome);
            }
            State::Known(_) | State::Taken => unreachable!("a call is settled once"),
        }
    }

    fn is_open(&self) -> bool {
        matches!(*self.lock(), State::Open(_))
    }

    /// Waits so long at most; whether there is still nothing to tell.
    fn wait(&self, seat: &Arc<Seat>, span: Duration) -> bool {
        if let State::Open(waiters) = &mut *self.lock() {
            waiters.threads.push(Arc::clone(seat));
        }
        seat.wait(span, || !self.is_open());
        match &mut *self.lock() {
            State::Open(waiters) => {
                waiters.threads.retain(|other| !Arc::ptr_eq(other, seat));
                true
            }
            State::Handed(_) | State::Known(_) | State::Taken => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
