//! Threads of ours that want Python's attention, and the end of Python, when they must no longer ask for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Runs `act` attached to the interpreter, or not at all if that is on its way out.
pub(crate) fn with_python<T>(act: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _here = Presence::enter()?;
    Python::try_attach(act)
}

/// From now on no thread of ours attaches any more. Returns when none is attached: a thread that asks for an interpreter that has
/// ended would be ended itself.
#[pyfunction]
pub(crate) fn rest(py: Python<'_>) {
    RESTING.store(true, Ordering::SeqCst);
    let until = Instant::now() + PATIENCE;
    py.detach(|| {
        while PRESENT.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// In a forked child: the threads that were present are not here.
#[pyfunction]
pub(crate) fn forked() {
    PRESENT.store(0, Ordering::SeqCst);
}

struct Presence;

impl Presence {
    /// Present first, then the look: who rests sees either the presence or is seen.
    fn enter() -> Option<Self> {
        PRESENT.fetch_add(1, Ordering::SeqCst);
        let here = Self;
        (!RESTING.load(Ordering::SeqCst)).then_some(here)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        PRESENT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A listener that does not return must not keep the app from its end.
const PATIENCE: Duration = Duration::from_secs(1);
static RESTING: AtomicBool = AtomicBool::new(false);
static PRESENT: AtomicUsize = AtomicUsize::new(0);
