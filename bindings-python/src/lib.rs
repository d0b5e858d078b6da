//! The seam between Python and the core: values in, one call, values out. The classes that apps see are in `python/ganger`.

mod announcing;
mod bell;
mod boundary;
mod decode;
mod encode;
mod error;
mod fate;
mod feed;
mod interpreter;
mod marks;
mod memory;
mod options;
mod plain;
mod pool;
mod progress;
mod refused;
mod settle;
mod stream;
mod told;
mod waiting;
mod watched;

use pyo3::prelude::*;

/// Everything here is for the package `ganger` only.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<pool::Pool>()?;
    module.add_class::<fate::Call>()?;
    module.add_class::<bell::Bell>()?;
    module.add_class::<progress::Progress>()?;
    let marks = marks::Marks::of(module.py())?;
    module.add("NOTHING", marks.nothing(module.py()))?;
    module.add("OVER", marks.over(module.py()))?;
    module.add_function(wrap_pyfunction!(stream::stream, module)?)?;
    module.add_function(wrap_pyfunction!(feed::submit_fed, module)?)?;
    module.add_function(wrap_pyfunction!(watched::submit_told, module)?)?;
    module.add_class::<memory::Block>()?;
    module.add_class::<encode::Arguments>()?;
    module.add_function(wrap_pyfunction!(settle_in, module)?)?;
    module.add_function(wrap_pyfunction!(interpreter::rest, module)?)?;
    module.add_function(wrap_pyfunction!(interpreter::forked, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encoded, module)?)?;
    module.add_function(wrap_pyfunction!(decode::decoded, module)?)
}

/// Says where the shim and the worker SDKs lie, and which Python this is.
#[pyfunction]
fn settle_in(home: &str, executable: Option<&str>) {
    ganger::set_home(home);
    if let Some(executable) = executable {
        ganger::set_own_interpreter(ganger::Language::Python, executable);
    }
}
