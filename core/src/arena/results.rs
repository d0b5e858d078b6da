//! One worker's arena: blocks that the worker fills, and the host reads until it says that it has done.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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

/// A block that a worker left its result in. It is the host's own until its last clone is gone; then it goes back.
#[derive(Clone, Debug)]
pub struct ResultBlock(Arc<Loan>);

struct Loan {
    arena: Arc<ResultArena>,
    offset: u64,
    length: u64,
    release: Option<Release>,
}

/// Told offset and length when nobody looks any more.
type Release = Box<dyn FnOnce(u64, u64) + Send + Sync>;

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

    /// The block there, without a copy. None: it does not lie within the arena.
    pub(crate) fn take(self: &Arc<Self>, offset: u64, length: u64, release: Release) -> Option<ResultBlock> {
        let mapping = self.mapping.get_or_init(|| self.file.map().ok()).as_ref()?;
        let end = offset.checked_add(length)?;
        if usize::try_from(end).ok()? > mapping.size() {
            return None;
        }
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|start, kept| start + *kept <= offset || end <= *start);
        Some(ResultBlock(Arc::new(Loan { arena: Arc::clone(self), offset, length, release: Some(release) })))
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

impl ResultBlock {
    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.range().len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where it begins. It may be read and written as long as a clone lives. Whoever writes sees to it that nobody has a
    /// slice of it meanwhile, through [`AsRef`] or the payload of its reply.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.0.mapping().at(self.0.range().start)
    }
}

impl AsRef<[u8]> for ResultBlock {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the worker must not touch the block before it is told that it may (R45). One that does all the same
        // changes bytes, not their number or place: what is read is garbage of its own making. In the host, whoever
        // writes through the pointer above keeps readers away.
        unsafe { self.0.mapping().slice(self.0.range()) }
    }
}

impl Loan {
    fn mapping(&self) -> &Mapping {
        let Some(Some(mapping)) = self.arena.mapping.get() else {
            unreachable!("a loan is made of a mapped arena")
        };
        mapping
    }

    fn range(&self) -> Range<usize> {
        let [start, end] = [self.offset, self.offset + self.length]
            .map(|at| usize::try_from(at).expect("checked when the loan was made"));
        start..end
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            self.arena.keep_or_strip(self.offset, self.length);
            release(self.offset, self.length);
        }
    }
}

impl fmt::Debug for Loan {
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

    use bytes::Bytes;

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
        let release = Box::new(move |offset, length| sender.send((offset, length)).unwrap());
        let bytes = Bytes::from_owner(arena.take(65_536, 1000, release).unwrap());
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
        let block = arena.take(0, 10, Box::new(|_, _| {})).unwrap();
        drop(arena);
        assert_eq!(block.as_ref(), b"still here");
    }

    #[test]
    fn a_block_is_the_hosts_to_write() {
        let arena = ResultArena::new(1 << 20).unwrap();
        written(&arena, 16_384, b"theirs");
        let block = arena.take(16_384, 6, Box::new(|_, _| {})).unwrap();
        // SAFETY: within the block, of which nobody has a slice.
        unsafe { block.as_mut_ptr().copy_from_nonoverlapping(b"ours!!".as_ptr(), block.len()) };
        assert_eq!(block.clone().as_ref(), b"ours!!");
    }

    #[test]
    fn what_does_not_lie_within_is_refused() {
        let arena = ResultArena::new(1 << 20).unwrap();
        for (offset, length) in [(0, (1 << 20) + 1), (1 << 20, 1), (u64::MAX, 2), (1, u64::MAX)] {
            assert!(arena.take(offset, length, Box::new(|_, _| {})).is_none(), "{length} at {offset}");
        }
    }

    #[test]
    fn blocks_that_went_back_hold_an_eighth_at_most() {
        let arena = ResultArena::new(8 << 20).unwrap();
        for offset in (0..6 << 20).step_by(1 << 19) {
            written(&arena, offset, &[1; 1 << 19]);
        }
        let taken = |offset| arena.take(offset, 1 << 19, Box::new(|_, _| {})).unwrap();
        let all: Vec<ResultBlock> = (0..6 << 20).step_by(1 << 19).map(taken).collect();
        assert!(held(&arena) >= 6 << 20);
        drop(all);
        assert!(held(&arena) <= 1 << 20, "{} bytes", held(&arena));
        // Used again and given back again, one block counts once.
        for _ in 0..10 {
            drop(taken(0));
        }
        assert!(held(&arena) > 0);
    }
}
