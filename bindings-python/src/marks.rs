//! Values that no function can give: they say that there is none.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// One of the values below.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Mark(&'static str);

#[pymethods]
impl Mark {
    fn __repr__(&self) -> &'static str {
        self.0
    }
}

pub(crate) struct Marks {
    nothing: Py<Mark>,
    over: Py<Mark>,
}

impl Marks {
    /// The interpreter's ones.
    pub(crate) fn of(py: Python<'_>) -> PyResult<&'static Self> {
        static MARKS: PyOnceLock<Marks> = PyOnceLock::new();
        MARKS.get_or_try_init(py, || {
            Ok(Self { nothing: Py::new(py, Mark("NOTHING"))?, over: Py::new(py, Mark("OVER"))? })
        })
    }

    /// Nothing has come yet, or there is no room yet.
    pub(crate) fn nothing<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.nothing.bind(py).clone().into_any()
    }

    /// Nothing will come any more, or nothing is wanted any more.
    pub(crate) fn over<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.over.bind(py).clone().into_any()
    }
}
