//! Calls that say how far they are, and answer with one value.

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::boundary::guarded;
use crate::fate;
use crate::pool::Pool;
use crate::progress::Progress;

/// Makes one, for a future to hold. In a full queue it may `wait` for room.
#[pyfunction]
#[pyo3(signature = (pool, function, value, options, wait, progress, /))]
pub(crate) fn submit_told(
    pool: &Bound<'_, Pool>,
    function: &str,
    value: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
    wait: bool,
    progress: &Bound<'_, Progress>,
) -> PyResult<fate::Call> {
    guarded(|| {
        let asked = pool.get().asked(function, value, options)?;
        let asked = ganger::Call { on_progress: Some(progress.get().observer()), ..asked };
        pool.get().send(pool.py(), asked, wait)
    })
}
