//! What keeps a fault of ours from passing for a fault of the app.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A panic becomes an ordinary exception: PyO3's own slips past `except Exception`.
pub(crate) fn guarded<T>(act: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Err(PyRuntimeError::new_err(format!("a fault in ganger itself: {text}")))
    })
}
