//! One worker's arena: blocks that the worker fills, and the host reads until it says that it has done.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::KEPT_PART;
use super::memory::{File, Mapping};

/// An arena for one worker's results. It is mapped when the first of them comes.
#[derive(Debug)]
pub(crate) struct ResultArena {
    file: File,
    mapping: OnceLock<Option<Mapping>>,
    /// Blocks that went back with their memory: offset and length.
    kept: Mutex<BTreeMap<u64, u64>>,
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
        Ok(Arc::new(Self {
            file: File::new("ganger-results", size)?,
            mapping: OnceLock::new(),
            kept: Mutex::default(),
        }))
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
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|start, kept| start + *kept <= offset || end <= *start);
        Some(Bytes::from_owner(Loan { arena: Arc::clone(self), offset, length, release: Some(release) }))
    }
}

impl ResultArena {
    /// A block is about to go back. It keeps its memory for the worker's next result, unless enough others do: the worker does
    /// not know of it yet, so nobody can be writing to it.
    fn keep_or_strip(&self, offset: u64, length: u64) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.values().sum::<u64>() + length <= self.file.size() as u64 / KEPT_PART {
            kept.insert(offset, length);
            return;
        }
        drop(kept);
        if let Err(error) = self.file.strip(offset..offset + length) {
            tracing::warn!(%error, "shared memory cannot be given back");
        }
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
            self.arena.keep_or_strip(self.offset, self.length);
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

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::mpsc;

    use super::*;

    fn written(arena: &Arc<ResultArena>, offset: u64, bytes: &[u8]) {
        // As a worker does it, through its own descriptor.
        let file = std::fs::File::from(arena.for_worker().try_clone().unwrap());
        file.write_all_at(bytes, offset).unwrap();
    }

    fn held(arena: &ResultArena) -> i64 {
        nix::sys::stat::fstat(&**arena.for_worker()).unwrap().st_blocks * 512
    }

    #[test]
    fn a_block_is_read_in_place_and_goes_back_when_nobody_looks() {
        let arena = ResultArena::new(1 << 20).unwrap();
        let (sender, gone) = mpsc::channel();
        written(&arena, 65_536, &[7; 1000]);
        let bytes =
            arena.read(65_536, 1000, move |offset, length| sender.send((offset, length)).unwrap()).unwrap();
        let part = bytes.slice(10..20);
        drop(bytes);
        assert!(gone.try_recv().is_err() && part.iter().all(|byte| *byte == 7));
        drop(part);
        assert_eq!(gone.try_recv(), Ok((65_536, 1000)));
    }

    #[test]
    fn bytes_outlive_the_worker_and_the_arena_itself() {
        let arena = ResultArena::new(1 << 20).unwrap();
        written(&arena, 0, b"still here");
        let bytes = arena.read(0, 10, |_, _| {}).unwrap();
        drop(arena);
        assert_eq!(&bytes[..], b"still here");
    }

    #[test]
    fn what_does_not_lie_within_is_refused() {
        let arena = ResultArena::new(1 << 20).unwrap();
        for (offset, length) in [(0, (1 << 20) + 1), (1 << 20, 1), (u64::MAX, 2), (1, u64::MAX)] {
            assert!(arena.read(offset, length, |_, _| {}).is_none(), "{length} at {offset}");
        }
    }

    #[test]
    fn blocks_that_went_back_hold_an_eighth_at_most() {
        let arena = ResultArena::new(8 << 20).unwrap();
        for offset in (0..6 << 20).step_by(1 << 19) {
            written(&arena, offset, &[1; 1 << 19]);
        }
        let all: Vec<Bytes> = (0..6 << 20)
            .step_by(1 << 19)
            .map(|offset| arena.read(offset, 1 << 19, |_, _| {}).unwrap())
            .collect();
        assert!(held(&arena) >= 6 << 20);
        drop(all);
        assert!(held(&arena) <= 1 << 20, "{} bytes", held(&arena));
        // Used again and given back again, one block counts once.
        for _ in 0..10 {
            drop(arena.read(0, 1 << 19, |_, _| {}).unwrap());
        }
        assert!(held(&arena) > 0);
    }
}
