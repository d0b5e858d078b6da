//! From the bytes of a result to a Python value.

use bytes::Bytes;
use ganger::error::ErrorCode;
use ganger::{Encoding, Reply};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDelta, PyDict, PyList, PyString};

use crate::encode::{TIMESTAMP, epoch};
use crate::error::exception;
use crate::memory;
use crate::refused::{MAX_DEPTH, Refused};

/// The value of a reply. What was pickled stays bytes: a pool reads no pickles.
pub(crate) fn reply<'py>(py: Python<'py>, reply: &Reply) -> PyResult<Bound<'py, PyAny>> {
    match reply.encoding {
        Encoding::MessagePack => value(py, &reply.payload)
            .map_err(|refused| exception(py, &refused.into_error(ErrorCode::InvalidResult, None))),
        Encoding::Raw if reply.view => memory::view(py, &reply.payload),
        Encoding::Raw => bytes(py, &reply.payload),
        Encoding::Pickle5 => pickle(py, reply),
    }
}

/// The same for a caller that waits, and so holds what it called with: bytes that came back unchanged it may have as they are.
pub(crate) fn reply_to<'py>(given: &Bound<'py, PyAny>, answered: &Reply) -> PyResult<Bound<'py, PyAny>> {
    let is_bytes = answered.encoding == Encoding::Raw && !answered.view;
    if is_bytes && answered.is_input() && given.is_exact_instance_of::<PyBytes>() {
        return Ok(given.clone());
    }
    reply(given.py(), answered)
}

/// A small one as bytes; of a large one a view: what is unpickled from it may be where it lies, for good.
fn pickle<'py>(py: Python<'py>, reply: &Reply) -> PyResult<Bound<'py, PyAny>> {
    match reply.block() {
        Some(block) => memory::writable_view(py, block),
        None if reply.payload.len() < VIEWED_FROM => bytes(py, &reply.payload),
        None => memory::view(py, &reply.payload),
    }
}

/// The value of some MessagePack: what tests and tools look at.
#[pyfunction]
pub(crate) fn decoded<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    value(py, data).map_err(|refused| exception(py, &refused.into_error(ErrorCode::InvalidResult, None)))
}

fn bytes<'py>(py: Python<'py>, payload: &Bytes) -> PyResult<Bound<'py, PyAny>> {
    if payload.len() < LONG {
        Ok(PyBytes::new(py, payload).into_any())
    } else {
        memory::long_bytes(py, payload)
    }
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
        let mark = self.byte()?;
        match mark {
            0x00..=0x7f => self.object(mark),
            0x80..=0x8f => self.map((mark & 0x0f).into(), depth),
            0x90..=0x9f => self.list((mark & 0x0f).into(), depth),
            0xa0..=0xbf => self.text((mark & 0x1f).into()).map(Bound::into_any),
            0xc0 => Ok(self.py.None().into_bound(self.py)),
            0xc2 => self.object(false),
            0xc3 => self.object(true),
            0xca..=0xd3 => self.number(mark),
            0xe0..=0xff => self.object(mark as i8),
            0xc1 | 0xc4..=0xc9 | 0xd4..=0xdf => self.sized(mark, depth),
        }
    }

    fn number(&mut self, mark: u8) -> Read<'py> {
        match mark {
            0xca => self.read(f32::from_be_bytes),
            0xcb => self.read(f64::from_be_bytes),
            0xcc => self.read(u8::from_be_bytes),
            0xcd => self.read(u16::from_be_bytes),
            0xce => self.read(u32::from_be_bytes),
            0xcf => self.read(u64::from_be_bytes),
            0xd0 => self.read(i8::from_be_bytes),
            0xd1 => self.read(i16::from_be_bytes),
            0xd2 => self.read(i32::from_be_bytes),
            _ => self.read(i64::from_be_bytes),
        }
    }

    /// What has its length written after its mark.
    fn sized(&mut self, mark: u8, depth: usize) -> Read<'py> {
        match mark {
            0xd4..=0xd8 => self.extension(1 << (mark - 0xd4)),
            0xc7..=0xc9 => {
                let length = self.length(mark - 0xc7)?;
                self.extension(length)
            }
            0xc4..=0xc6 => {
                let length = self.length(mark - 0xc4)?;
                Ok(PyBytes::new(self.py, self.take(length)?).into_any())
            }
            0xd9..=0xdb => {
                let length = self.length(mark - 0xd9)?;
                self.text(length).map(Bound::into_any)
            }
            0xdc | 0xdd => {
                let length = self.length(mark - 0xdb)?;
                self.list(length, depth)
            }
            0xde | 0xdf => {
                let length = self.length(mark - 0xdd)?;
                self.map(length, depth)
            }
            _ => Err(Refused::new(format!("byte 0x{mark:02x} is no MessagePack"))),
        }
    }

    /// A length of 1, 2 or 4 bytes.
    fn length(&mut self, size: u8) -> Result<usize, Refused> {
        Ok(match size {
            0 => self.byte()?.into(),
            1 => u16::from_be_bytes(self.array()?).into(),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
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
        let length = match self.byte()? {
            mark @ 0xa0..=0xbf => (mark & 0x1f).into(),
            mark @ 0xd9..=0xdb => self.length(mark - 0xd9)?,
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

    fn read<const N: usize, T: IntoPyObject<'py>>(&mut self, read: fn([u8; N]) -> T) -> Read<'py> {
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

const VIEWED_FROM: usize = 64 * 1024;
/// For so many bytes an allocator asks the system each time.
const LONG: usize = 32 << 20;
