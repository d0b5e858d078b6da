//! One worker's arena: blocks that the worker fills, and the host reads until it says that it has done.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::memory::{File, Mapping};

/// An arena for one worker's results. It is mapped when the first of them comes.
#[derive(Debug)]
pub(crate) struct ResultArena {
    file: File,
    mapping: OnceLock<Option<Mapping>>,
}

/// A block that the worker handed over. Dropped, it goes back.
struct Loan<R: FnOnce(u64, u64) + Send + 'static> {
    arena: Arc<ResultArena>,
    offset: u64,
    length: u64,
    release: Option<R>,
}

impl ResultArena {
    /// # Errors
    /// The system has no such memory.
    pub(crate) fn new(size: usize) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { file: File::new("ganger-results", size)?, mapping: OnceLock::new() }))
    }

    /// The descriptor that the worker inherits.
    pub(crate) fn for_worker(&self) -> &Arc<OwnedFd> {
        self.file.fd()
    }

    pub(crate) fn size(&self) -> usize {
        self.file.size()
    }

    /// What lies there, without a copy. `release` is told offset and length when nobody looks any more. None: it does not lie within the arena.
    pub(crate) fn read<R>(self: &Arc<Self>, offset: u64, length: u64, release: R) -> Option<Bytes>
    where
        R: FnOnce(u64, u64) + Send + 'static,
    {
        let mapping = self.mapping.get_or_init(|| self.file.map().ok()).as_ref()?;
        let end = offset.checked_add(length)?;
        if usize::try_from(end).ok()? > mapping.size() {
            return None;
        }
        Some(Bytes::from_owner(Loan { arena: Arc::clone(self), offset, length, release: Some(release) }))
    }
}

impl<R: FnOnce(u64, u64) + Send + 'static> AsRef<[u8]> for Loan<R> {
    fn as_ref(&self) -> &[u8] {
        let Some(Some(mapping)) = self.arena.mapping.get() else {
            unreachable!("a loan is made of a mapped arena")
        };
        let [start, end] = [self.offset, self.offset + self.length]
            .map(|at| usize::try_from(at).expect("checked when the loan was made"));
        // SAFETY: the worker must not touch the block before it is told that it may (R45). One that does all the same
        // changes bytes, not their number or place: what is read is garbage of its own making.
        unsafe { mapping.slice(start..end) }
    }
}

impl<R: FnOnce(u64, u64) + Send + 'static> Drop for Loan<R> {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release(self.offset, self.length);
        }
    }
}

impl<R: FnOnce(u64, u64) + Send + 'static> fmt::Debug for Loan<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan")
            .field("offset", &self.offset)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
