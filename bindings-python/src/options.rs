//! Options as Python gives them, to the plain map that the core reads.

use std::time::Duration;

use ganger::Error;
use ganger::error::ErrorCode;
use ganger::options::{CallOptions, PoolOptions, Surface, duration};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDict, PyFloat, PyInt, PyMapping, PySequence, PyString};
use serde_json::{Map, Value};

use crate::error::exception;

/// The options of a pool.
pub(crate) fn pool(options: &Bound<'_, PyDict>) -> PyResult<PoolOptions> {
    let map = map_of(options)?;
    PoolOptions::parse(&map, Surface::Python).map_err(|error| exception(options.py(), &error.into()))
}

/// The options of a call. Most have none, and then there is no map either.
pub(crate) fn call(options: Option<&Bound<'_, PyDict>>) -> PyResult<CallOptions> {
    let Some(options) = options.filter(|options| !options.is_empty()) else {
        return Ok(CallOptions::default());
    };
    let map = map_of(options)?;
    CallOptions::parse(&map, Surface::Python).map_err(|error| exception(options.py(), &error.into()))
}

/// How long to wait for the end of a pool: so long, as long as it takes (`"never"`), or as its option says (None).
pub(crate) fn patience(value: &Bound<'_, PyAny>, default: Duration) -> PyResult<Option<Duration>> {
    let span = match plain(value) {
        Some(Value::Null) => return Ok(Some(default)),
        Some(Value::String(text)) if text == "never" => return Ok(None),
        Some(Value::String(text)) => duration::parse(&text),
        Some(Value::Number(seconds)) => seconds.as_f64().and_then(duration::from_seconds),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
    };
    let expected = "seconds, a timedelta, text such as \"10s\" or \"1m30s\", or \"never\"";
    span.map(Some).ok_or_else(|| not_plain(value, "timeout", expected))
}

fn map_of(options: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    let mut map = Map::new();
    for (name, value) in options.iter() {
        let name = name.extract::<String>()?;
        let plain = plain(&value).ok_or_else(|| not_plain(&value, &name, "of a type that options have"))?;
        map.insert(name, plain);
    }
    Ok(map)
}

/// None for what no option takes.
fn plain(value: &Bound<'_, PyAny>) -> Option<Value> {
    if value.is_none() {
        Some(Value::Null)
    } else if let Ok(flag) = value.cast::<PyBool>() {
        Some(flag.is_true().into())
    } else if value.is_instance_of::<PyInt>() {
        value.extract::<i64>().map(Value::from).or_else(|_| value.extract::<f64>().map(Value::from)).ok()
    } else if value.is_instance_of::<PyFloat>() {
        // Infinity and not-a-number have no plain form; as text the core refuses them by name.
        let number = value.extract::<f64>().ok()?;
        Some(serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number))
    } else if value.is_instance_of::<PyString>() {
        value.extract::<String>().map(Value::from).ok()
    } else if value.is_instance_of::<PyDelta>() {
        value.call_method0(intern!(value.py(), "total_seconds")).ok()?.extract::<f64>().map(Value::from).ok()
    } else {
        composite(value)
    }
}

fn composite(value: &Bound<'_, PyAny>) -> Option<Value> {
    if let Ok(map) = value.cast::<PyMapping>() {
        let items = map.items().ok()?;
        let pairs = items.iter().map(|pair| {
            let (name, item) = pair.extract::<(String, Bound<'_, PyAny>)>().ok()?;
            Some((name, plain(&item)?))
        });
        return pairs.collect::<Option<Map<_, _>>>().map(Value::Object);
    }
    if value.hasattr(intern!(value.py(), "__fspath__")).unwrap_or(false) {
        return value
            .extract::<std::path::PathBuf>()
            .ok()?
            .into_os_string()
            .into_string()
            .map(Value::from)
            .ok();
    }
    let list = value.cast::<PySequence>().ok()?;
    let items = list.try_iter().ok()?.map(|item| plain(&item.ok()?));
    items.collect::<Option<Vec<_>>>().map(Value::Array)
}

fn not_plain(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let shown: String = value.repr().map_or_else(|_| "?".to_owned(), |repr| repr.to_string());
    let shown: String = shown.chars().take(80).collect();
    let message = format!("option {name:?} is {shown}, but must be {expected}");
    exception(value.py(), &Error::new(ErrorCode::InvalidOption, message).with_detail("option", name))
}
