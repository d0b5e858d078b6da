//! Errors of the core to exceptions. The classes are Python's own, generated from the core's table.

use ganger::Error;
use ganger::options::Surface;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;

use crate::plain;

/// The exception for an error, ready to be raised.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    match instance(py, error) {
        Ok(instance) => PyErr::from_value(instance),
        Err(failure) => failure,
    }
}

/// The exception for an error, as an object. A pickled original goes along for those who read pickles.
pub(crate) fn instance<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    static ERROR_FROM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = ERROR_FROM.import(py, "ganger._generated.errors", "error_from")?;
    let fields = plain::object(py, &error.to_value(Surface::Python))?;
    let instance = make.call1((fields,))?;
    if let Some(payload) = &error.payload {
        instance.setattr(intern!(py, "_pickled"), PyBytes::new(py, payload))?;
    }
    Ok(instance)
}
