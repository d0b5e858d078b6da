//! The memory of an arena: a sealed, sparse file without a name, and its mapping.
//!
//! The file can neither grow nor shrink, so a mapped page cannot vanish under a reader; a page gets its memory by `fallocate`
//! before it is first written, so that a system without memory says no instead of killing the writer.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The file behind an arena.
#[derive(Debug)]
pub(super) struct File {
    fd: Arc<OwnedFd>,
    size: usize,
}

impl File {
    /// For whoever is to inherit it.
    pub(super) fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }
}

/// A file mapped for reading and writing, for as long as this lives.
#[derive(Debug)]
pub(super) struct Mapping {
    start: std::ptr::NonNull<u8>,
    size: usize,
}

// SAFETY: memory that is mapped until this is dropped; who may touch which part is settled by leases on blocks.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Where a byte lies, for reading and writing. Whoever goes through it keeps within a range that is its own.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.size, "a block lies within its arena");
        self.start.as_ptr().wrapping_add(offset)
    }

    /// # Safety
    /// Nobody may write the range while the slice lives.
    pub(super) unsafe fn slice(&self, range: Range<usize>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.size, "a block lies within its arena");
        // SAFETY: within the mapping, whose pages the file's seals keep; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(range.start), range.len()) }
    }

    /// # Safety
    /// Nobody else may touch the range while the slice lives.
    #[expect(
        clippy::mut_from_ref,
        reason = "leases on blocks, not borrows of the mapping, keep writers apart"
    )]
    pub(super) unsafe fn slice_mut(&self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.size, "a block lies within its arena");
        // SAFETY: within the mapping; the caller has the range for itself.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) }
    }
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod system {
    use std::num::NonZeroUsize;
    use std::os::fd::{AsRawFd, OwnedFd};

    use nix::fcntl::{FallocateFlags, FcntlArg, OFlag, SealFlag, fallocate, fcntl, open};
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
    use nix::sys::stat::Mode;
    use nix::unistd::ftruncate;

    use super::{Arc, File, Mapping, Range, io};
    use crate::process::clear_of_low;

    impl File {
        /// Costs no memory before something is written to it.
        pub(in super::super) fn new(name: &str, size: usize) -> io::Result<Self> {
            let fd = memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
            let fd = clear_of_low(fd)?;
            ftruncate(&fd, length(size)?)?;
            let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
            fcntl(&fd, FcntlArg::F_ADD_SEALS(seals))?;
            Ok(Self { fd: Arc::new(fd), size })
        }

        /// The same file for those who must not write it.
        pub(in super::super) fn for_readers(&self) -> io::Result<OwnedFd> {
            let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
            clear_of_low(open(path.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?)
        }

        pub(in super::super) fn map(&self) -> io::Result<Mapping> {
            let size = NonZeroUsize::new(self.size).ok_or(io::ErrorKind::InvalidInput)?;
            let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            // SAFETY: a new mapping at an address of the system's choice; it touches no memory that anybody has.
            let start = unsafe { mmap(None, size, rights, MapFlags::MAP_SHARED, &*self.fd, 0) }?;
            Ok(Mapping { start: start.cast(), size: self.size })
        }

        /// A part of a file, whose pages are copied when they are written: nobody else sees that. It begins at a whole page.
        pub(in super::super) fn map_privately(fd: &OwnedFd, range: Range<u64>) -> io::Result<Mapping> {
            let size = usize::try_from(range.end - range.start).map_err(|_| io::ErrorKind::InvalidInput)?;
            let length = NonZeroUsize::new(size).ok_or(io::ErrorKind::InvalidInput)?;
            let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
            // SAFETY: as above.
            let start = unsafe { mmap(None, length, rights, flags, fd, self::length(range.start)?) }?;
            Ok(Mapping { start: start.cast(), size })
        }

        /// Puts memory behind a range, or says that there is none.
        pub(in super::super) fn back(&self, range: Range<u64>) -> io::Result<()> {
            let span = length(range.end - range.start)?;
            Ok(fallocate(&*self.fd, FallocateFlags::empty(), length(range.start)?, span)?)
        }

        /// Takes the memory from a range; it reads as zeros from then on.
        pub(in super::super) fn strip(&self, range: Range<u64>) -> io::Result<()> {
            let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            Ok(fallocate(&*self.fd, flags, length(range.start)?, length(range.end - range.start)?)?)
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: this mapping, which nobody can reach any more.
            let unmapped = unsafe { munmap(self.start.cast(), self.size) };
            if let Err(error) = unmapped {
                tracing::warn!(%error, "an arena cannot be unmapped");
            }
        }
    }

    fn length<T: TryInto<i64>>(bytes: T) -> io::Result<i64> {
        bytes.try_into().map_err(|_| io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
mod system {
    use super::{File, Mapping, OwnedFd, Range, io};

    /// Payloads go through the socket.
    impl File {
        pub(in super::super) fn new(_name: &str, _size: usize) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn for_readers(&self) -> io::Result<OwnedFd> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn map(&self) -> io::Result<Mapping> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn map_privately(_fd: &OwnedFd, _range: Range<u64>) -> io::Result<Mapping> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn back(&self, _range: Range<u64>) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn strip(&self, _range: Range<u64>) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}
