//! From a Python value to the input of a call: one walk over the objects, into one buffer of MessagePack.

use ganger::error::ErrorCode;
use ganger::{Encoding, Input, Pool, SHARED_MEMORY_THRESHOLD, Shape};
use pyo3::buffer::PyBuffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt, PyList,
    PyMemoryView, PyString, PyTuple, PyTzInfoAccess,
};

use crate::error::exception;
use crate::refused::{MAX_DEPTH, Refused};

/// A value as the input of a call. A byte string goes as it is.
pub(crate) fn input(value: &Bound<'_, PyAny>, pool: &Pool) -> Result<Input, Refused> {
    if let Ok(arguments) = value.cast_exact::<Arguments>() {
        return arguments.get().input(value.py());
    }
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return Ok(Input::raw(shared_or_copied(bytes)));
    }
    if value.is_instance_of::<PyMemoryView>() {
        return Ok(raw_buffer(value, pool)?.as_view());
    }
    if value.is_instance_of::<PyByteArray>() {
        return raw_buffer(value, pool);
    }
    let mut out = Vec::with_capacity(USUAL_SIZE);
    write(&mut out, value, 0)?;
    Ok(Input::message_pack(out))
}

/// Positional and named arguments as the input of a call: a list and a map.
#[pyclass(frozen, module = "ganger._native")]
pub(crate) struct Arguments {
    args: Py<PyTuple>,
    named: Py<PyDict>,
}

#[pymethods]
impl Arguments {
    #[new]
    #[pyo3(signature = (args, named, /))]
    fn new(args: Py<PyTuple>, named: Py<PyDict>) -> Self {
        Self { args, named }
    }
}

impl Arguments {
    pub(crate) fn input(&self, py: Python<'_>) -> Result<Input, Refused> {
        let mut out = Vec::with_capacity(USUAL_SIZE);
        let args = self.args.bind(py);
        infallible(rmp::encode::write_array_len(&mut out, 2));
        write_items(&mut out, args.len(), args.iter(), 1)?;
        write_map(&mut out, self.named.bind(py), 1)?;
        Ok(Input::new(Encoding::MessagePack, Shape::Arguments, out))
    }
}

/// The MessagePack of a value: what tests and tools look at.
#[pyfunction]
pub(crate) fn encoded<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    match write(&mut out, value, 0) {
        Ok(()) => Ok(PyBytes::new(value.py(), &out)),
        Err(refused) => Err(exception(value.py(), &refused.into_error(ErrorCode::InvalidInput, None))),
    }
}

/// Small ones are copied: keeping a Python object alive costs more.
pub(crate) fn shared_or_copied(bytes: &Bound<'_, PyBytes>) -> bytes::Bytes {
    if bytes.as_bytes().len() < SHARED_FROM {
        return bytes::Bytes::copy_from_slice(bytes.as_bytes());
    }
    bytes::Bytes::from_owner(PyBackedBytes::from(bytes.clone()))
}

/// A large one is copied straight to where workers look.
fn raw_buffer(value: &Bound<'_, PyAny>, pool: &Pool) -> Result<Input, Refused> {
    let py = value.py();
    let found = PyBuffer::<u8>::get(value).ok();
    let Some(found) = found.filter(|found| found.len_bytes() >= SHARED_MEMORY_THRESHOLD) else {
        return Ok(Input::raw(buffer(value)?));
    };
    let Some(mut room) = pool.reserve(found.len_bytes()) else {
        return Ok(Input::raw(buffer(value)?).without_room());
    };
    found.copy_to_slice(py, &mut room).map_err(|error| Refused::new(error.to_string()))?;
    Ok(Input::shared(Encoding::Raw, Shape::Value, room.freeze()))
}

fn buffer(value: &Bound<'_, PyAny>) -> Result<Vec<u8>, Refused> {
    let copied = PyBuffer::<u8>::get(value).and_then(|buffer| buffer.to_vec(value.py()));
    // A view of other items than bytes: as the standard library sees its bytes.
    let bytes = copied.or_else(|_| value.call_method0(intern!(value.py(), "tobytes"))?.extract::<Vec<u8>>());
    bytes.map_err(|error| Refused::new(error.to_string()))
}

fn write(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Refused> {
    if depth > MAX_DEPTH {
        return Err(Refused::too_deep());
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        write_text(out, text)
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        write_integer(out, number)
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        infallible(rmp::encode::write_f64(out, number.value()));
        Ok(())
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        infallible(rmp::encode::write_bool(out, flag.is_true()));
        Ok(())
    } else if value.is_none() {
        infallible(rmp::encode::write_nil(out));
        Ok(())
    } else if let Ok(map) = value.cast_exact::<PyDict>() {
        write_map(out, map, depth)
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        write_items(out, list.len(), list.iter(), depth)
    } else if let Ok(list) = value.cast_exact::<PyTuple>() {
        write_items(out, list.len(), list.iter(), depth)
    } else {
        write_rarer(out, value, depth)
    }
}

fn write_rarer(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, depth: usize) -> Result<(), Refused> {
    if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        write_bytes(out, bytes.as_bytes())
    } else if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        write_bytes(out, &buffer(value)?)
    } else if let Ok(moment) = value.cast_exact::<PyDateTime>() {
        write_timestamp(out, moment)
    } else {
        write(out, &plain(value)?, depth + 1)
    }
}

fn write_map(out: &mut Vec<u8>, map: &Bound<'_, PyDict>, depth: usize) -> Result<(), Refused> {
    infallible(rmp::encode::write_map_len(out, length(map.len())?));
    for (key, item) in map.iter() {
        let Ok(name) = key.cast::<PyString>() else { return Err(no_name(&key)) };
        // A member of a `StrEnum` is written as its value, which it is.
        write_text(out, name)?;
        write(out, &item, depth + 1).map_err(|refused| refused.at_name(&name.to_string_lossy()))?;
    }
    Ok(())
}

fn write_items<'py>(
    out: &mut Vec<u8>,
    count: usize,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> Result<(), Refused> {
    infallible(rmp::encode::write_array_len(out, length(count)?));
    let mut written = 0;
    for item in items.take(count) {
        write(out, &item, depth + 1).map_err(|refused| refused.at_index(written))?;
        written += 1;
    }
    // Code that ran on the way may have shortened the list.
    if written == count { Ok(()) } else { Err(Refused::new("the list changed while it was read")) }
}

fn write_text(out: &mut Vec<u8>, text: &Bound<'_, PyString>) -> Result<(), Refused> {
    let text =
        text.to_str().map_err(|_| Refused::new("a string with lone surrogates is not Unicode text"))?;
    length(text.len())?;
    infallible(rmp::encode::write_str(out, text));
    Ok(())
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Refused> {
    length(bytes.len())?;
    infallible(rmp::encode::write_bin(out, bytes));
    Ok(())
}

fn write_integer(out: &mut Vec<u8>, number: &Bound<'_, PyInt>) -> Result<(), Refused> {
    if let Ok(number) = number.extract::<i64>() {
        infallible(rmp::encode::write_sint(out, number));
    } else {
        let number = number.extract::<u64>().map_err(|_| Refused::new("integer beyond 64 bits"))?;
        infallible(rmp::encode::write_uint(out, number));
    }
    Ok(())
}

/// MessagePack's own type for moments, in the shortest of its three forms.
fn write_timestamp(out: &mut Vec<u8>, moment: &Bound<'_, PyDateTime>) -> Result<(), Refused> {
    if moment.get_tzinfo().is_none() {
        return Err(Refused::new("a datetime without a time zone"));
    }
    let since = epoch(moment.py()).and_then(|epoch| moment.sub(epoch));
    let since = since.map_err(|error| Refused::new(error.to_string()))?;
    let since = since.cast::<PyDelta>().map_err(|_| Refused::new("a datetime that cannot be subtracted"))?;
    let seconds = i64::from(since.get_days()) * 86_400 + i64::from(since.get_seconds());
    let nanoseconds = u32::try_from(since.get_microseconds()).unwrap_or(0) * 1_000;
    match u64::try_from(seconds) {
        Ok(seconds) if nanoseconds == 0 && seconds < 1 << 32 => {
            infallible(rmp::encode::write_ext_meta(out, 4, TIMESTAMP));
            out.extend_from_slice(&seconds.to_be_bytes()[4..]);
        }
        Ok(seconds) if seconds < 1 << 34 => {
            infallible(rmp::encode::write_ext_meta(out, 8, TIMESTAMP));
            out.extend_from_slice(&(u64::from(nanoseconds) << 34 | seconds).to_be_bytes());
        }
        Ok(_) | Err(_) => {
            infallible(rmp::encode::write_ext_meta(out, 12, TIMESTAMP));
            out.extend_from_slice(&nanoseconds.to_be_bytes());
            out.extend_from_slice(&seconds.to_be_bytes());
        }
    }
    Ok(())
}

/// 1970, where timestamps begin.
pub(crate) fn epoch(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyAny>> {
        let module = py.import("datetime")?;
        Ok(module.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, module.getattr("UTC")?))?.unbind())
    };
    Ok(EPOCH.get_or_try_init(py, make)?.bind(py))
}

/// Dataclasses, enums, sets, dates and so on, as one of the types above.
fn plain<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Refused> {
    static PLAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    PLAIN
        .import(py, "ganger._plain", "plain")
        .and_then(|plain| plain.call1((value,)))
        .map_err(|error| Refused::new(error.value(py).to_string()))
}

fn no_name(key: &Bound<'_, PyAny>) -> Refused {
    let kind = key.get_type().name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string());
    Refused::new(format!("map key {key} is of type '{kind}', not a string"))
}

fn length(count: usize) -> Result<u32, Refused> {
    let refused = |_| Refused::new(format!("{count} elements or bytes are more than MessagePack can hold"));
    u32::try_from(count).map_err(refused)
}

fn infallible<T, E: std::fmt::Debug>(written: Result<T, E>) -> T {
    written.expect("memory takes every byte")
}

const USUAL_SIZE: usize = 128;
const SHARED_FROM: usize = 64 * 1024;
pub(crate) const TIMESTAMP: i8 = -1;
