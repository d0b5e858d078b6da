//! Outcomes of calls as values and errors of Python.

use ganger::Outcome;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::{decode, error};

/// A value and an error; one of them is None.
pub(crate) type Told<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// An outcome for Python. What cannot be decoded is an error; an interrupt on the way is raised.
pub(crate) fn told<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Told<'py>> {
    let none = py.None().into_bound(py);
    match outcome {
        Ok(reply) => match decode::reply(py, reply) {
            Ok(value) => Ok((value, none)),
            Err(failure) if failure.is_instance_of::<PyException>(py) => {
                Ok((none, failure.into_value(py).into_bound(py).into_any()))
            }
            Err(interrupt) => Err(interrupt),
        },
        Err(failure) => Ok((none, error::instance(py, failure)?)),
    }
}

/// Worker, value and error of each.
pub(crate) fn told_all<'py>(py: Python<'py>, outcomes: &[(u32, Outcome)]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for (worker, outcome) in outcomes {
        let (value, error) = told(py, outcome)?;
        list.append((worker, value, error))?;
    }
    Ok(list.into_any())
}
