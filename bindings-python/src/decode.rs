//! From the bytes of a result to a Python value.

use bytes::Bytes;
use ganger::error::ErrorCode;
use ganger::{Encoding, Reply};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDelta, PyDict, PyList, PyString};
use rmp::Marker;

use crate::encode::{TIMESTAMP, epoch};
use crate::error::exception;
use crate::refused::{MAX_DEPTH, Refused};

/// The value of a reply. What was pickled stays bytes: a pool reads no pickles.
pub(crate) fn reply<'py>(py: Python<'py>, reply: &Reply) -> PyResult<Bound<'py, PyAny>> {
    match reply.encoding {
        Encoding::MessagePack => value(py, &reply.payload)
            .map_err(|refused| exception(py, &refused.into_error(ErrorCode::InvalidResult, None))),
        Encoding::Raw | Encoding::Pickle5 => Ok(bytes(py, &reply.payload)),
    }
}

/// The value of some MessagePack: what tests and tools look at.
#[pyfunction]
pub(crate) fn decoded<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    value(py, data).map_err(|refused| exception(py, &refused.into_error(ErrorCode::InvalidResult, None)))
}

fn bytes<'py>(py: Python<'py>, payload: &Bytes) -> Bound<'py, PyAny> {
    PyBytes::new(py, payload).into_any()
}

fn value<'py>(py: Python<'py>, data: &[u8]) -> Result<Bound<'py, PyAny>, Refused> {
    let mut reader = Reader { py, rest: data };
    let value = reader.value(0)?;
    match reader.rest.len() {
        0 => Ok(value),
        extra => Err(Refused::new(format!("{extra} bytes after the value"))),
    }
}

struct Reader<'py, 'data> {
    py: Python<'py>,
    rest: &'data [u8],
}

type Read<'py> = Result<Bound<'py, PyAny>, Refused>;

impl<'py, 'data> Reader<'py, 'data> {
    fn value(&mut self, depth: usize) -> Read<'py> {
        let py = self.py;
        match Marker::from_u8(self.byte()?) {
            Marker::Null => Ok(py.None().into_bound(py)),
            Marker::True => Ok(true.into_pyobject(py).map(|flag| flag.to_owned().into_any())?),
            Marker::False => Ok(false.into_pyobject(py).map(|flag| flag.to_owned().into_any())?),
            Marker::FixPos(number) => self.object(number),
            Marker::FixNeg(number) => self.object(number),
            Marker::FixStr(length) => self.text(length.into()).map(Bound::into_any),
            Marker::FixArray(length) => self.list(length.into(), depth),
            Marker::FixMap(length) => self.map(length.into(), depth),
            marker => self.longer(marker, depth),
        }
    }

    fn longer(&mut self, marker: Marker, depth: usize) -> Read<'py> {
        match marker {
            Marker::U8 => self.number(u8::from_be_bytes),
            Marker::U16 => self.number(u16::from_be_bytes),
            Marker::U32 => self.number(u32::from_be_bytes),
            Marker::U64 => self.number(u64::from_be_bytes),
            Marker::I8 => self.number(i8::from_be_bytes),
            Marker::I16 => self.number(i16::from_be_bytes),
            Marker::I32 => self.number(i32::from_be_bytes),
            Marker::I64 => self.number(i64::from_be_bytes),
            Marker::F32 => self.number(f32::from_be_bytes),
            Marker::F64 => self.number(f64::from_be_bytes),
            _ => self.sized(marker, depth),
        }
    }

    fn sized(&mut self, marker: Marker, depth: usize) -> Read<'py> {
        let length = match marker {
            Marker::Str8 | Marker::Bin8 | Marker::Ext8 => usize::from(self.byte()?),
            Marker::Str16 | Marker::Bin16 | Marker::Ext16 | Marker::Array16 | Marker::Map16 => {
                usize::from(u16::from_be_bytes(self.array()?))
            }
            Marker::Str32 | Marker::Bin32 | Marker::Ext32 | Marker::Array32 | Marker::Map32 => {
                u32::from_be_bytes(self.array()?) as usize
            }
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            _ => return Err(Refused::new(format!("byte 0x{:02x} is no MessagePack", marker.to_u8()))),
        };
        match marker {
            Marker::Str8 | Marker::Str16 | Marker::Str32 => self.text(length).map(Bound::into_any),
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
                Ok(PyBytes::new(self.py, self.take(length)?).into_any())
            }
            Marker::Array16 | Marker::Array32 => self.list(length, depth),
            Marker::Map16 | Marker::Map32 => self.map(length, depth),
            _ => self.extension(length),
        }
    }

    fn list(&mut self, length: usize, depth: usize) -> Read<'py> {
        self.check(length, depth)?;
        let list = PyList::empty(self.py);
        for index in 0..length {
            let item = self.value(depth + 1).map_err(|refused| refused.at_index(index))?;
            list.append(item)?;
        }
        Ok(list.into_any())
    }

    fn map(&mut self, length: usize, depth: usize) -> Read<'py> {
        self.check(length.saturating_mul(2), depth)?;
        let map = PyDict::new(self.py);
        for _ in 0..length {
            let name = self.name()?;
            let item = self.value(depth + 1).map_err(|refused| refused.at_name(&name.to_string_lossy()))?;
            map.set_item(name, item)?;
        }
        Ok(map.into_any())
    }

    fn name(&mut self) -> Result<Bound<'py, PyString>, Refused> {
        let length = match Marker::from_u8(self.byte()?) {
            Marker::FixStr(length) => length.into(),
            Marker::Str8 => self.byte()?.into(),
            Marker::Str16 => u16::from_be_bytes(self.array()?).into(),
            Marker::Str32 => u32::from_be_bytes(self.array()?) as usize,
            _ => return Err(Refused::new("a map key that is not a string")),
        };
        self.text(length)
    }

    fn text(&mut self, length: usize) -> Result<Bound<'py, PyString>, Refused> {
        let bytes = self.take(length)?;
        PyString::from_bytes(self.py, bytes).map_err(|_| Refused::new("a string that is not UTF-8"))
    }

    fn extension(&mut self, length: usize) -> Read<'py> {
        let kind = i8::from_be_bytes(self.array()?);
        let data = self.take(length)?;
        if kind == TIMESTAMP { self.timestamp(data) } else { Err(unknown(kind)) }
    }

    fn timestamp(&self, data: &[u8]) -> Read<'py> {
        let (seconds, nanoseconds) = moment(data)?;
        let (days, seconds) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let out_of_range = || Refused::new("a timestamp that a datetime cannot hold");
        let days = i32::try_from(days).map_err(|_| out_of_range())?;
        let microseconds = i32::try_from(nanoseconds / 1_000).map_err(|_| out_of_range())?;
        let since = PyDelta::new(self.py, days, seconds as i32, microseconds, true);
        let moment = since.and_then(|since| epoch(self.py)?.add(since));
        moment.map_err(|_| out_of_range())
    }

    fn number<const N: usize, T: IntoPyObject<'py>>(&mut self, read: fn([u8; N]) -> T) -> Read<'py> {
        let number = read(self.array()?);
        self.object(number)
    }

    fn object<T: IntoPyObject<'py>>(&self, value: T) -> Read<'py> {
        let object = value.into_bound_py_any(self.py);
        object.map_err(|error| Refused::new(error.to_string()))
    }

    /// Refuses before anything is built what can not be: depth, and more elements than bytes are left.
    fn check(&self, elements: usize, depth: usize) -> Result<(), Refused> {
        if depth >= MAX_DEPTH {
            return Err(Refused::too_deep());
        }
        if elements > self.rest.len() { Err(cut()) } else { Ok(()) }
    }

    fn byte(&mut self) -> Result<u8, Refused> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let (array, rest) = self.rest.split_first_chunk().ok_or_else(cut)?;
        self.rest = rest;
        Ok(*array)
    }

    fn take(&mut self, length: usize) -> Result<&'data [u8], Refused> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Seconds and nanoseconds since 1970.
fn moment(data: &[u8]) -> Result<(i64, u32), Refused> {
    if let Ok(data) = <[u8; 4]>::try_from(data) {
        return Ok((u32::from_be_bytes(data).into(), 0));
    }
    if let Ok(data) = <[u8; 8]>::try_from(data) {
        let both = u64::from_be_bytes(data);
        return Ok(((both & ((1 << 34) - 1)) as i64, (both >> 34) as u32));
    }
    let (Some(nanoseconds), Some(seconds)) = (data.first_chunk::<4>(), data.get(4..)) else {
        return Err(Refused::new("a timestamp of a wrong size"));
    };
    let seconds = <[u8; 8]>::try_from(seconds).map_err(|_| Refused::new("a timestamp of a wrong size"))?;
    Ok((i64::from_be_bytes(seconds), u32::from_be_bytes(*nanoseconds)))
}

fn cut() -> Refused {
    Refused::new("the bytes end within a value")
}

fn unknown(kind: i8) -> Refused {
    Refused::new(format!("MessagePack extension {kind}"))
}

/// Python itself may fail to make an object, for want of memory.
impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Self::new(error.to_string())
    }
}

impl From<std::convert::Infallible> for Refused {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
