//! Both arenas of shared memory, as the host has them, without mapping them.

use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use ganger_protocol::message::SharedMemory;
use ganger_protocol::{Arena, Reference};

use super::breach::{Breach, Kept, ensure};

/// Two files in memory, and what of the result arena is lent to the host.
#[derive(Debug)]
pub(super) struct Arenas {
    input: File,
    /// The same, for the worker: to read only.
    input_to_read: File,
    result: File,
    lent: Vec<Reference>,
}

/// Bytes of each arena: two results of a trial do not fit.
pub(super) const SIZE: u64 = 1 << 20;
/// From here on payloads may lie in an arena.
pub(super) const THRESHOLD: u64 = 64 << 10;

impl Arenas {
    #[cfg(target_os = "linux")]
    pub(super) fn new() -> io::Result<Self> {
        use nix::sys::memfd::{MFdFlags, memfd_create};
        let made = |name| -> io::Result<File> {
            let file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
            file.set_len(SIZE)?;
            Ok(file)
        };
        let input = made(c"check-input")?;
        let input_to_read = File::open(format!("/proc/self/fd/{}", input.as_raw_fd()))?;
        Ok(Self { input, input_to_read, result: made(c"check-result")?, lent: Vec::new() })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What the worker inherits, as 5 and 6.
    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.input_to_read.as_fd(), self.result.as_fd()]
    }

    /// What WELCOME says of them.
    pub(super) fn described() -> SharedMemory {
        SharedMemory { input_fd: 5, result_fd: 6, input_size: SIZE, result_size: SIZE, threshold: THRESHOLD }
    }

    /// Puts an input where the worker finds it.
    pub(super) fn put(&self, offset: u64, bytes: &[u8]) -> io::Result<Reference> {
        self.input.write_all_at(bytes, offset)?;
        Ok(Reference { arena: Arena::Input, offset, length: bytes.len() as u64 })
    }

    /// What a reference of the worker's stands for. From now on its block is lent to the host.
    pub(super) fn take(&mut self, payload: &[u8]) -> Kept<Vec<u8>> {
        let valid = Reference::read(payload)
            .filter(|place| place.offset.checked_add(place.length).is_some_and(|end| end <= SIZE));
        let Some(place) = valid else {
            let came = format!("{payload:?}");
            return Err(Breach::new(43, "with SHARED, a reference to something within an arena", came));
        };
        let file = match place.arena {
            Arena::Input => &self.input,
            Arena::Result => {
                let overlaps = |lent: &Reference| {
                    place.offset < lent.offset + lent.length && lent.offset < place.offset + place.length
                };
                let free = !self.lent.iter().any(overlaps);
                ensure(free, 45, "results in blocks that the host has given back", || {
                    format!("one at {} with {} bytes, which is lent", place.offset, place.length)
                })?;
                self.lent.push(place);
                &self.result
            }
        };
        let mut bytes = vec![0; usize::try_from(place.length).expect("it fits an arena")];
        let read = file.read_exact_at(&mut bytes, place.offset);
        read.map_err(|error| Breach::new(43, "a reference that can be read", error.to_string()))?;
        Ok(bytes)
    }

    /// Overwrites what is lent, as a host may, and gives its offsets back.
    pub(super) fn give_back(&mut self) -> io::Result<Vec<u64>> {
        for place in &self.lent {
            let zeros = vec![0; usize::try_from(place.length).expect("it fits an arena")];
            self.result.write_all_at(&zeros, place.offset)?;
        }
        Ok(self.lent.drain(..).map(|place| place.offset).collect())
    }

    /// Whether anything is lent.
    pub(super) fn has_lent(&self) -> bool {
        !self.lent.is_empty()
    }
}
