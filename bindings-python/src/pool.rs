//! The pool as the package `ganger` holds it: every method converts, makes one call of the core, and converts back.

use std::sync::Arc;
use std::time::Duration;

use ganger::error::ErrorCode;
use ganger::events::{Event, SubscriptionId};
use ganger::options::{Surface, WhenFull};
use ganger::shape::Shaped;
use ganger::{Call, CallId, Encoding, Error, Input, Shape, WaitId, Waiter};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyDict, PyList};

use crate::boundary::guarded;
use crate::fate::Fate;
use crate::memory::Block;
use crate::settle::Settler;
use crate::{announcing, decode, encode, error, fate, interpreter, options, plain, told, waiting};

/// A pool of the core.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Pool {
    pub(crate) core: ganger::Pool,
    pub(crate) settler: &'static Settler,
    made_in: u32,
}

/// Names a subscription, to end it.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Subscription(SubscriptionId);

/// Names a future that waits, to have it forgotten.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Wait(Option<WaitId>);

#[pymethods]
impl Pool {
    #[new]
    fn new(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        guarded(|| {
            let options = options::pool(options)?;
            let core = ganger::Pool::new(options).map_err(|failure| error::exception(py, &failure))?;
            Ok(Self { core, settler: Settler::here(py)?, made_in: std::process::id() })
        })
    }

    /// Makes a call and waits for its value.
    #[pyo3(signature = (function, value, options=None, /))]
    fn call<'py>(
        &self,
        function: &str,
        value: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        guarded(|| {
            let asked = self.asked(function, value, options)?;
            match waiting::outcome(py, &self.core, asked)? {
                Ok(reply) => decode::reply_to(value, &reply),
                Err(failure) => Err(error::exception(py, &failure)),
            }
        })
    }

    /// Makes a call, for a future to hold. In a full queue it may `wait` for room.
    #[pyo3(signature = (function, value, options=None, wait=false, /))]
    fn submit(
        &self,
        function: &str,
        value: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
        wait: bool,
    ) -> PyResult<fate::Call> {
        guarded(|| {
            let asked = self.asked(function, value, options)?;
            self.send(value.py(), asked, wait)
        })
    }

    /// The same with arguments that were pickled: bytes, or a block with them.
    #[pyo3(signature = (function, arguments, options=None, wait=false, /))]
    fn submit_pickled(
        &self,
        function: &str,
        arguments: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
        wait: bool,
    ) -> PyResult<fate::Call> {
        let py = arguments.py();
        guarded(|| {
            self.open(py)?;
            let input = match arguments.cast::<Block>() {
                Ok(block) => block.get().pickled()?,
                Err(_) => {
                    let payload = encode::shared_or_copied(arguments.cast::<PyBytes>()?);
                    Input::new(Encoding::Pickle5, Shape::Arguments, payload)
                }
            };
            let options = options::call(options)?;
            self.send(py, Call { function: function.into(), input, options, on_progress: None }, wait)
        })
    }

    /// Makes one call on every worker that is ready, and waits for all: worker, value and error of each. Ctrl-C cancels them.
    #[pyo3(signature = (function, value, options=None, /))]
    fn broadcast<'py>(
        &self,
        function: &str,
        value: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        guarded(|| {
            let asked = self.asked(function, value, options)?;
            let begin = |done| self.core.broadcast(&asked, done);
            let outcomes =
                waiting::answer(py, &self.core, None, begin, |calls| self.core.cancel_all(&calls))?;
            told::told_all(py, &outcomes.unwrap_or_default())
        })
    }

    /// The same without waiting: the future gets the list. Returns the calls, for `cancel_all`.
    #[pyo3(signature = (future, function, value, options=None, /))]
    fn broadcast_soon(
        &self,
        future: &Bound<'_, PyAny>,
        function: &str,
        value: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<u64>> {
        guarded(|| {
            let asked = self.asked(function, value, options)?;
            let (settler, future) = (self.settler, future.clone().unbind());
            let done = Box::new(move |outcomes| settler.settle_all(future, outcomes));
            let calls = value.py().detach(|| self.core.broadcast(&asked, done));
            Ok(calls.into_iter().map(|call| call.0).collect())
        })
    }

    /// Memory to fill with an input.
    fn alloc(&self, py: Python<'_>, bytes: usize) -> PyResult<Block> {
        self.open(py)?;
        Ok(py.detach(|| Block::new(&self.core, bytes)))
    }

    /// Gives a call up.
    fn cancel(&self, py: Python<'_>, call: u64) {
        py.detach(|| self.core.cancel(CallId(call)));
    }

    /// Gives several calls up at once.
    fn cancel_all(&self, py: Python<'_>, calls: Vec<u64>) {
        let calls: Vec<CallId> = calls.into_iter().map(CallId).collect();
        py.detach(|| self.core.cancel_all(&calls));
    }

    /// Waits until so many workers are ready (None: all), a call finds room, or none is left, as `what` says. False if that takes too long.
    #[pyo3(signature = (what, workers, timeout, /))]
    fn wait_until(
        &self,
        py: Python<'_>,
        what: &str,
        workers: Option<u32>,
        timeout: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        self.here(py)?;
        let limit = if timeout.is_none() { None } else { options::patience(timeout, Duration::ZERO)? };
        let begin = |waiter| self.when(what, workers, waiter);
        let verdict = waiting::answer(py, &self.core, limit, begin, |wait| self.give_up(wait))?;
        match verdict {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(failure)) => Err(error::exception(py, &failure)),
        }
    }

    /// The same without waiting: the future gets None when it is so. Returns what `stop_waiting` takes.
    #[pyo3(signature = (future, what, workers, /))]
    fn tell_when(&self, future: &Bound<'_, PyAny>, what: &str, workers: Option<u32>) -> PyResult<Wait> {
        self.here(future.py())?;
        let (settler, waiting) = (self.settler, future.clone().unbind());
        let waiter = Box::new(move |verdict| settler.tell(waiting, verdict));
        Ok(Wait(future.py().detach(|| self.when(what, workers, waiter))))
    }

    /// Has the future that waits forgotten.
    fn stop_waiting(&self, wait: &Bound<'_, Wait>) {
        let waiting = wait.get().0;
        wait.py().detach(|| self.give_up(waiting));
    }

    /// Has every worker replaced by one that loads the code anew.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        self.open(py)?;
        py.detach(|| self.core.reload());
        Ok(())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.here(py)?;
        guarded(|| plain::object(py, &py.detach(|| self.core.stats()).to_value(Surface::Python)))
    }

    fn calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.here(py)?;
        guarded(|| plain::object(py, &py.detach(|| self.core.calls()).to_value(Surface::Python)))
    }

    fn flight_record(&self, py: Python<'_>) -> PyResult<String> {
        self.here(py)?;
        guarded(|| Ok(py.detach(|| self.core.flight_record())))
    }

    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.here(py)?;
        guarded(|| {
            let list = PyList::empty(py);
            for contract in py.detach(|| self.core.functions()).iter().flat_map(|all| all.iter()) {
                let info = ganger::FunctionInfo::from(contract);
                list.append(plain::object(py, &info.to_value(Surface::Python))?)?;
            }
            Ok(list.into_any())
        })
    }

    /// Has `tell` called with the data of every event of that name, on a thread of the pool, until `unsubscribe`. Of lines that workers
    /// print and log, only those from `source`, if it is given.
    #[pyo3(signature = (name, tell, source=None, /))]
    fn subscribe(
        &self,
        py: Python<'_>,
        name: String,
        tell: Py<PyAny>,
        source: Option<String>,
    ) -> PyResult<Subscription> {
        self.here(py)?;
        let observer = move |event: &Event| {
            if event.name() == name && announcing::is_from(event, source.as_deref()) {
                interpreter::with_python(|py| announcing::announce(py, event, &tell));
            }
        };
        Ok(Subscription(py.detach(|| self.core.subscribe(Box::new(observer)))))
    }

    fn unsubscribe(&self, py: Python<'_>, subscription: &Bound<'_, Subscription>) -> PyResult<bool> {
        self.here(py)?;
        let subscription = subscription.get().0;
        Ok(py.detach(|| self.core.unsubscribe(subscription)))
    }

    /// Waits until listeners have been told of all that happened, at most so many seconds. Not for a listener, which would wait for itself.
    fn flush_events(&self, py: Python<'_>, seconds: f64) -> bool {
        announcing::is_announcing() || py.detach(|| self.core.flush_events(Duration::from_secs_f64(seconds)))
    }

    /// Finishes its calls, as long as `timeout` says, and waits for its last worker.
    fn close(&self, py: Python<'_>, timeout: &Bound<'_, PyAny>) -> PyResult<()> {
        self.here(py)?;
        let patience = options::patience(timeout, self.core.options().close_timeout)?;
        waiting::end(py, &self.core, |done| self.core.close(patience, done))
    }

    /// The same without waiting: the future gets None at the end.
    fn close_soon(&self, future: &Bound<'_, PyAny>, timeout: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = future.py();
        self.here(py)?;
        let patience = options::patience(timeout, self.core.options().close_timeout)?;
        let done = self.done(future);
        py.detach(|| self.core.close(patience, done));
        Ok(())
    }

    /// Kills its workers and waits for the last one.
    fn terminate(&self, py: Python<'_>) -> PyResult<()> {
        self.here(py)?;
        waiting::end(py, &self.core, |done| self.core.terminate(done))
    }

    /// The same without waiting. A future gets None at the end.
    #[pyo3(signature = (future=None))]
    fn terminate_soon(&self, py: Python<'_>, future: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.here(py)?;
        let done =
            future.map_or_else(|| Box::new(|| {}) as Box<dyn FnOnce() + Send>, |future| self.done(future));
        py.detach(|| self.core.terminate(done));
        Ok(())
    }

    /// Where a worker that is started by hand attaches, and with which token; None without an endpoint.
    fn invite(&self, py: Python<'_>) -> PyResult<Option<(String, String)>> {
        self.here(py)?;
        let invitation = self.core.invite();
        Ok(invitation.map(|found| (found.address.to_string_lossy().into_owned(), found.token)))
    }

    /// Whether it takes no more calls.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.core.is_closed())
    }

    /// Whether this process is a forked child of the one that made it.
    #[getter]
    fn forked(&self) -> bool {
        self.made_in != std::process::id()
    }

    /// Whether a call waits for room when the queue is full.
    #[getter]
    fn waits(&self) -> bool {
        self.core.options().when_full == WhenFull::Wait
    }

    #[getter]
    fn name(&self) -> &str {
        &self.core.options().name
    }

    /// How many calls run at once when all workers are there.
    #[getter]
    fn room(&self) -> u64 {
        let options = self.core.options();
        let workers = options.workers.unwrap_or_else(|| match options.devices.len() {
            0 => ganger::options::usable_cpus().get(),
            devices => u32::try_from(devices).unwrap_or(u32::MAX),
        });
        u64::from(workers) * u64::from(options.concurrency.get())
    }
}

impl Pool {
    fn here(&self, py: Python<'_>) -> PyResult<()> {
        if self.forked() { Err(error::exception(py, &Error::forked())) } else { Ok(()) }
    }

    fn open(&self, py: Python<'_>) -> PyResult<()> {
        self.here(py)?;
        if self.core.is_closed() { Err(error::exception(py, &Error::pool_closed())) } else { Ok(()) }
    }

    pub(crate) fn asked(
        &self,
        function: &str,
        value: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Call> {
        self.open(value.py())?;
        let function: Arc<str> = function.into();
        if let Ok(block) = value.cast::<Block>() {
            let input = block.get().input()?;
            return Ok(Call { function, input, options: options::call(options)?, on_progress: None });
        }
        match encode::input(value, &self.core) {
            Ok(input) => Ok(Call { function, input, options: options::call(options)?, on_progress: None }),
            Err(refused) => {
                let failure = refused.into_error(ErrorCode::InvalidInput, Some(function));
                Err(error::exception(value.py(), &failure))
            }
        }
    }

    /// Not detached: to hand a small call over is quicker than to let go of the interpreter and get it back.
    pub(crate) fn send(&self, py: Python<'_>, asked: Call, wait: bool) -> PyResult<fate::Call> {
        let fate = Fate::new(self.settler);
        let completion = {
            let fate = Arc::clone(&fate);
            Box::new(move |outcome| fate.settle(outcome))
        };
        let call = if wait {
            waiting::admitted(py, &self.core, asked, completion)?
        } else if asked.input.payload.len() < DETACH_FROM {
            self.core.submit(asked, completion)
        } else {
            py.detach(|| self.core.submit(asked, completion))
        };
        Ok(fate::Call::new(&self.core, call, fate))
    }

    fn when(&self, what: &str, workers: Option<u32>, waiter: Waiter) -> Option<WaitId> {
        match what {
            "warm" => self.core.warm(workers.unwrap_or(u32::MAX), waiter),
            "ready" => self.core.ready(waiter),
            _ => self.core.drained(waiter),
        }
    }

    fn give_up(&self, wait: Option<WaitId>) {
        if let Some(wait) = wait {
            self.core.stop_waiting(wait);
        }
    }

    fn done(&self, future: &Bound<'_, PyAny>) -> Box<dyn FnOnce() + Send> {
        let (settler, future) = (self.settler, future.clone().unbind());
        Box::new(move || settler.tell(future, Ok(())))
    }
}

const DETACH_FROM: usize = 16 * 1024;
