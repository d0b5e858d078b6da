//! Wakes the tasks of one event loop: from any thread, without the interpreter, all that wait with one byte.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

/// The loop's end: it watches the descriptor, and holds the bell as long as it does.
#[pyclass(frozen, weakref, module = "ganger._native")]
pub(crate) struct Bell(Arc<Ringer>);

/// What those hold who have news. Both ends of the pair: none ever finds the other one closed.
pub(crate) struct Ringer {
    called: Mutex<Vec<Py<PyAny>>>,
    clapper: UnixStream,
    ear: UnixStream,
}

#[pymethods]
impl Bell {
    #[new]
    fn new() -> PyResult<Self> {
        let (ear, clapper) = UnixStream::pair()?;
        ear.set_nonblocking(true)?;
        clapper.set_nonblocking(true)?;
        Ok(Self(Arc::new(Ringer { called: Mutex::default(), clapper, ear })))
    }

    fn fileno(&self) -> i32 {
        self.0.ear.as_raw_fd()
    }

    /// Whom it was rung for since it was last asked.
    fn take(&self) -> PyResult<Vec<Py<PyAny>>> {
        // The byte first: who comes after finds nobody called and writes another one.
        match (&self.0.ear).read(&mut [0; 64]) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(std::mem::take(&mut *self.0.called()))
    }
}

impl Bell {
    pub(crate) fn ringer(&self) -> Arc<Ringer> {
        Arc::clone(&self.0)
    }
}

impl Ringer {
    /// Calls a waiter of the loop. If the loop is gone nobody hears it.
    pub(crate) fn ring(&self, waiter: Py<PyAny>) {
        let mut called = self.called();
        called.push(waiter);
        let first = called.len() == 1;
        drop(called);
        if first {
            // A full buffer has bytes enough to wake anyone.
            let _ = (&self.clapper).write(&[0]);
        }
    }

    fn called(&self) -> MutexGuard<'_, Vec<Py<PyAny>>> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
