//! Memory that Python looks at without a copy: results that lie in shared memory, and blocks that an app fills in place.
//!
//! The buffer protocol is made of raw pointers, so this is the one file here that needs `unsafe`.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ganger::{Encoding, Input, Reservation, ResultBlock, Shape};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

/// A result as a memoryview over where it lies. The memory is in use for as long as anything looks at it.
pub(crate) fn view<'py>(py: Python<'py>, payload: &Bytes) -> PyResult<Bound<'py, PyAny>> {
    lent(py, Lent::Shared(payload.clone()))
}

/// The same, to be written as well: the worker left it for this result alone, and nothing here reads it any more.
pub(crate) fn writable_view<'py>(py: Python<'py>, block: &ResultBlock) -> PyResult<Bound<'py, PyAny>> {
    lent(py, Lent::Own(block.clone()))
}

/// A long copy. Its pages are fresh, and of the large kind where there are such: they are made in a fifth of the time.
pub(crate) fn long_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let length = ffi::Py_ssize_t::try_from(bytes.len())?;
    // SAFETY: an object to be filled, of which this is the only reference, or null with an exception.
    let made = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), length))
    }?;
    // SAFETY: a bytes object has so many bytes there.
    let start = unsafe { ffi::PyBytes_AsString(made.as_ptr()) }.cast::<u8>();
    prefer_large_pages(start, bytes.len());
    // SAFETY: memory of the new object's, which nobody else has seen.
    unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(made)
}

/// Whole pages of memory that is about to be written.
#[cfg(target_os = "linux")]
fn prefer_large_pages(start: *mut u8, length: usize) {
    use nix::sys::mman::{MmapAdvise, madvise};
    let lead = start.align_offset(PAGE);
    let Some(first) = std::ptr::NonNull::new(start.wrapping_add(lead)) else { return };
    let whole = length.saturating_sub(lead) / PAGE * PAGE;
    // SAFETY: it changes no byte, only how the system will lay the memory out. Whether it does so is the system's business.
    let _ = unsafe { madvise(first.cast(), whole, MmapAdvise::MADV_HUGEPAGE) };
}

/// Pages are no larger on any system.
#[cfg(target_os = "linux")]
const PAGE: usize = 64 * 1024;

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages(_start: *mut u8, _length: usize) {}

fn lent(py: Python<'_>, lent: Lent) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyMemoryView::from(Bound::new(py, Lender(lent))?.as_any())?.into_any())
}

/// What a memoryview looks at.
#[pyclass(frozen, module = "ganger._native")]
struct Lender(Lent);

enum Lent {
    Shared(Bytes),
    Own(ResultBlock),
}

#[pymethods]
impl Lender {
    /// # Safety
    /// `view` is Python's to be filled.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let area = match &slf.get().0 {
            Lent::Shared(bytes) => Area::read_only(bytes),
            Lent::Own(block) => Area { start: block.as_mut_ptr(), length: block.len(), read_only: false },
        };
        // SAFETY: memory that this object keeps, and the filled view keeps the object. Nobody changes what is shared; what
        // is its own is looked at through such views only, as Python's own memory is.
        unsafe { fill(view, slf.as_any(), area, flags) }
    }
}

/// Memory to fill in place with the input of a call, which then copies nothing. It takes bytes through any writable view
/// (`memoryview(block)`, `numpy.frombuffer(block, …)`); once it is the input of a call it can only be read, also by
/// further calls.
#[pyclass(frozen, module = "ganger")]
pub(crate) struct Block(Mutex<State>);

enum State {
    /// It can be written through so many views.
    Filling { memory: Memory, views: usize },
    /// Workers may look at it.
    Given(Input),
}

enum Memory {
    Shared(Reservation),
    /// There was no room.
    Own(Vec<u8>),
}

impl Block {
    pub(crate) fn new(pool: &ganger::Pool, bytes: usize) -> Self {
        let shared = pool.reserve(bytes).map(Memory::Shared);
        let memory = shared.unwrap_or_else(|| Memory::Own(vec![0; bytes]));
        Self(Mutex::new(State::Filling { memory, views: 0 }))
    }

    /// It as the input of a call, with bytes of the app's: from now on nobody writes it.
    pub(crate) fn input(&self) -> PyResult<Input> {
        self.given(|memory| match memory {
            Memory::Shared(room) => Input::shared(Encoding::Raw, Shape::Value, room.freeze()).as_view(),
            Memory::Own(bytes) => Input::raw(bytes).as_view().without_room(),
        })
    }

    /// The same with arguments that were pickled into it.
    pub(crate) fn pickled(&self) -> PyResult<Input> {
        self.given(|memory| match memory {
            Memory::Shared(room) => Input::shared(Encoding::Pickle5, Shape::Arguments, room.freeze()),
            Memory::Own(bytes) => Input::new(Encoding::Pickle5, Shape::Arguments, bytes).without_room(),
        })
    }

    fn given(&self, make: impl FnOnce(Memory) -> Input) -> PyResult<Input> {
        let mut state = self.state();
        if let State::Filling { views: views @ 1.., .. } = *state {
            let views =
                if views == 1 { "a writable view".to_owned() } else { format!("{views} writable views") };
            return Err(PyBufferError::new_err(format!(
                "the block still has {views}: release or delete them before a call takes it"
            )));
        }
        let empty = State::Filling { memory: Memory::Own(Vec::new()), views: 0 };
        let input = match std::mem::replace(&mut *state, empty) {
            State::Given(input) => input,
            State::Filling { memory, .. } => make(memory),
        };
        *state = State::Given(input.clone());
        Ok(input)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Block {
    fn __len__(&self) -> usize {
        match &*self.state() {
            State::Filling { memory: Memory::Shared(room), .. } => room.len(),
            State::Filling { memory: Memory::Own(bytes), .. } => bytes.len(),
            State::Given(input) => input.payload.len(),
        }
    }

    /// # Safety
    /// `view` is Python's to be filled.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let mut state = slf.get().state();
        let (area, writable) = match &mut *state {
            State::Given(input) => (Area::read_only(&input.payload), false),
            State::Filling { memory: Memory::Shared(room), .. } => (Area::writable(room), true),
            State::Filling { memory: Memory::Own(bytes), .. } => (Area::writable(bytes), true),
        };
        // SAFETY: memory that this object owns and that stays where it is while there are writable views (they are
        // counted) or for good; the filled view keeps the object.
        unsafe { fill(view, slf.as_any(), area, flags) }?;
        if let State::Filling { views, .. } = &mut *state {
            *views += 1;
        }
        // SAFETY: filled just now; the field is the exporter's own, and tells the views apart that are counted.
        unsafe { (*view).internal = std::ptr::without_provenance_mut(usize::from(writable)) };
        Ok(())
    }

    /// # Safety
    /// `view` was filled by `__getbuffer__`.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as said.
        let counted = unsafe { !(*view).internal.is_null() };
        if let State::Filling { views, .. } = &mut *self.state()
            && counted
        {
            *views -= 1;
        }
    }
}

/// Memory that somebody owns.
struct Area {
    start: *mut u8,
    length: usize,
    read_only: bool,
}

impl Area {
    fn read_only(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr().cast_mut(), length: bytes.len(), read_only: true }
    }

    fn writable(bytes: &mut [u8]) -> Self {
        Self { start: bytes.as_mut_ptr(), length: bytes.len(), read_only: false }
    }
}

/// # Safety
/// `view` is to be filled, and the area lives as long as `owner`.
unsafe fn fill(
    view: *mut ffi::Py_buffer,
    owner: &Bound<'_, PyAny>,
    area: Area,
    flags: c_int,
) -> PyResult<()> {
    let length = ffi::Py_ssize_t::try_from(area.length)?;
    let read_only = c_int::from(area.read_only);
    // SAFETY: as the caller says; it takes a reference to the owner.
    let filled =
        unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), area.start.cast(), length, read_only, flags) };
    if filled == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}
