//! The pool's own arena: blocks that the host fills and lends to workers.

mod lately;

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::KEPT_PART;
use ganger_protocol::{Blocks, Extent};

use self::lately::Lately;
use super::memory::{File, Mapping};

/// Pages are no larger on any system.
const LARGEST_PAGE: u64 = 64 * 1024;

/// An arena for the inputs of calls. Clones are the same arena.
#[derive(Clone, Debug)]
pub(crate) struct InputArena(Arc<Inside>);

struct Inside {
    file: File,
    mapping: Mapping,
    readers: Arc<OwnedFd>,
    blocks: Mutex<Blocks>,
    lately: Lately,
    /// Payloads for which there was no room.
    refused: AtomicU64,
    warned: AtomicBool,
}

/// A block to be filled, of a length that was asked for. Nobody else sees it yet.
#[derive(Debug)]
pub struct Reservation(Lease);

/// A filled block: workers and host read it, nobody writes it. It is free again when its last clone is gone.
#[derive(Clone, Debug)]
pub struct Block(Arc<Lease>);

/// Bytes of a block as memory of its holder's own: what is written is copied first, and seen by nobody else.
#[derive(Debug)]
pub struct PrivateView {
    mapping: Mapping,
    /// What was asked for begins so many bytes after a page does.
    lead: usize,
    /// Pages that were not written are the block's: it stays what it is. Let go of last.
    _block: Block,
}

impl PrivateView {
    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.mapping.size() - self.lead
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where it begins. It may be read and written for as long as this lives.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.mapping.at(self.lead)
    }
}

/// A part of the arena that is given back when this is dropped.
struct Lease {
    arena: InputArena,
    extent: Extent,
    length: usize,
}

impl InputArena {
    /// # Errors
    /// The system has no such memory.
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        let file = File::new("ganger-input", size)?;
        let mapping = file.map()?;
        let readers = Arc::new(file.for_readers()?);
        let blocks = Mutex::new(Blocks::new(size as u64, size as u64 / KEPT_PART));
        let (refused, warned) = (AtomicU64::new(0), AtomicBool::new(false));
        let lately = Lately::default();
        Ok(Self(Arc::new(Inside { file, mapping, readers, blocks, lately, refused, warned })))
    }

    pub(crate) fn size(&self) -> usize {
        self.0.file.size()
    }

    /// The descriptor that workers inherit: they cannot write through it.
    pub(crate) fn for_readers(&self) -> &Arc<OwnedFd> {
        &self.0.readers
    }

    /// Bytes in blocks that are taken.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.blocks().used_bytes()
    }

    /// How often there was no room.
    pub(crate) fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// A block of so many bytes, with memory behind it. None: there is no room, or the system has no memory.
    pub(crate) fn reserve(&self, length: usize) -> Option<Reservation> {
        let reserved = self.take(length as u64);
        if reserved.is_none() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            if !self.0.warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(bytes = length, "no shared memory is left; payloads go through the socket");
            }
        }
        reserved.map(|extent| Reservation(Lease { arena: self.clone(), extent, length }))
    }

    /// A block that holds these bytes: one that holds them already, if they were copied from the same place and are the same still, or
    /// a copy. None as in `reserve`.
    pub(crate) fn hold(&self, bytes: &[u8]) -> Option<Block> {
        if let Some(block) = self.0.lately.find(bytes) {
            return Some(block);
        }
        let mut room = self.reserve(bytes.len())?;
        room.copy_from_slice(bytes);
        let block = room.freeze();
        self.0.lately.remember(bytes, &block);
        Some(block)
    }

    fn take(&self, length: u64) -> Option<Extent> {
        let taken = self.blocks().take(length);
        let extent = taken.or_else(|| {
            self.strip(|blocks| blocks.drop_kept());
            self.blocks().take(length)
        })?;
        if length <= extent.backed {
            return Some(extent);
        }
        match self.0.file.back(extent.offset + extent.backed..extent.offset + length) {
            Ok(()) => Some(Extent { backed: length, ..extent }),
            Err(_) => {
                self.give(extent);
                None
            }
        }
    }

    fn give(&self, extent: Extent) {
        self.strip(|blocks| blocks.give(extent));
    }

    /// Takes the memory from what is surplus, without the lock: that takes milliseconds for long blocks.
    fn strip(&self, surplus: impl FnOnce(&mut Blocks) -> Vec<Extent>) {
        let surplus = surplus(&mut self.blocks());
        for extent in surplus {
            // One that keeps its memory after all is lost to nobody: it is counted as bare, and backed anew.
            if let Err(error) = self.0.file.strip(extent.offset..extent.offset + extent.length) {
                tracing::warn!(%error, "shared memory cannot be given back");
            }
            self.blocks().strip(extent);
        }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.0.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// The block as others may see it from now on.
    pub fn freeze(self) -> Block {
        Block(Arc::new(self.0))
    }
}

impl Deref for Reservation {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: nobody but the holder of this reservation knows the range.
        unsafe { self.0.arena.0.mapping.slice(self.0.range()) }
    }
}

impl DerefMut for Reservation {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { self.0.arena.0.mapping.slice_mut(self.0.range()) }
    }
}

impl Block {
    /// Where it begins in its arena.
    pub(crate) fn offset(&self) -> u64 {
        self.0.extent.offset
    }

    /// A part of it that is written without anybody else seeing it, whoever looks at the block. None: the system has none to give.
    pub(crate) fn privately(&self, part: Range<usize>) -> Option<PrivateView> {
        assert!(part.start <= part.end && part.end <= self.0.length, "a part lies within its block");
        let start = self.offset() + part.start as u64;
        let lead = start % LARGEST_PAGE;
        let end = start + part.len() as u64;
        let mapping = File::map_privately(&self.0.arena.0.readers, start - lead..end).ok()?;
        Some(PrivateView { mapping, lead: usize::try_from(lead).ok()?, _block: self.clone() })
    }

    /// Whether it lies in this arena.
    pub(crate) fn is_in(&self, arena: &InputArena) -> bool {
        Arc::ptr_eq(&self.0.arena.0, &arena.0)
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: a frozen block is written by nobody until its last clone is gone.
        unsafe { self.0.arena.0.mapping.slice(self.0.range()) }
    }
}

impl Lease {
    fn range(&self) -> Range<usize> {
        let start =
            usize::try_from(self.extent.offset).expect("an arena is mapped, so its offsets fit an address");
        start..start + self.length
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.arena.give(self.extent);
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("offset", &self.extent.offset).field("length", &self.length).finish()
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputArena").field("size", &self.mapping.size()).finish_non_exhaustive()
    }
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn filled(arena: &InputArena, length: usize, byte: u8) -> Block {
        let mut room = arena.reserve(length).expect("there is room");
        room.fill(byte);
        room.freeze()
    }

    #[test]
    fn blocks_keep_their_bytes_until_the_last_clone_is_gone() {
        let arena = InputArena::new(1 << 20).unwrap();
        let (first, second) = (filled(&arena, 300 * KIB, 1), filled(&arena, 200 * KIB, 2));
        let clone = first.clone();
        drop(first);
        let third = filled(&arena, 300 * KIB, 3);
        assert!(clone.as_ref().iter().all(|byte| *byte == 1) && clone.as_ref().len() == 300 * KIB);
        assert!(second.as_ref().iter().all(|byte| *byte == 2));
        assert!(arena.used_bytes() >= 800 * KIB as u64);
        drop((clone, second, third));
        assert_eq!(arena.used_bytes(), 0);
    }

    #[test]
    fn without_room_it_says_no_and_with_room_again_yes() {
        let arena = InputArena::new(1 << 20).unwrap();
        let held: Vec<Block> = std::iter::from_fn(|| Some(arena.reserve(200 * KIB)?.freeze())).collect();
        assert_eq!((held.len(), arena.refused()), (4, 1), "blocks of 224 KiB");
        assert!(arena.reserve(2 << 20).is_none(), "more than it ever has");
        drop(held);
        assert!(arena.reserve(1 << 20).is_some(), "pieces that are free again join");
    }

    #[test]
    fn the_same_bytes_from_the_same_place_lie_there_once() {
        let arena = InputArena::new(4 << 20).unwrap();
        let mut bytes = vec![1; 500 * KIB];
        let first = arena.hold(&bytes).unwrap();
        let again = arena.hold(&bytes).unwrap();
        assert_eq!(again.offset(), first.offset());
        assert_ne!(arena.hold(&bytes.clone()).unwrap().offset(), first.offset(), "these come from elsewhere");
        assert_ne!(arena.hold(&bytes[..400 * KIB]).unwrap().offset(), first.offset(), "these are fewer");
        bytes[499 * KIB] = 2;
        let changed = arena.hold(&bytes).unwrap();
        assert_ne!(changed.offset(), first.offset());
        assert_eq!((first.as_ref()[499 * KIB], changed.as_ref()[499 * KIB]), (1, 2));
        drop((first, again, changed));
        assert_eq!(arena.used_bytes(), 0, "to be remembered holds nothing");
    }

    #[test]
    fn memory_that_is_free_is_given_back_but_for_a_part() {
        let arena = InputArena::new(64 << 20).unwrap();
        let blocks = |arena: &InputArena| nix::sys::stat::fstat(arena.for_readers()).unwrap().st_blocks * 512;
        let held: Vec<Block> = (0..8).map(|byte| filled(&arena, 6 << 20, byte)).collect();
        assert!(blocks(&arena) >= 48 << 20);
        drop(held);
        assert!(blocks(&arena) <= 8 << 20, "{} bytes are kept", blocks(&arena));
    }

    #[test]
    fn a_reader_can_map_it_and_cannot_write_it() {
        use nix::sys::mman::{MapFlags, ProtFlags, mmap};
        let arena = InputArena::new(1 << 20).unwrap();
        let size = std::num::NonZeroUsize::new(1 << 20).unwrap();
        let map = |rights| {
            // SAFETY: a new mapping, never looked at.
            unsafe { mmap(None, size, rights, MapFlags::MAP_SHARED, arena.for_readers(), 0) }
        };
        assert!(map(ProtFlags::PROT_READ).is_ok());
        assert_eq!(map(ProtFlags::PROT_READ | ProtFlags::PROT_WRITE), Err(nix::Error::EACCES));
        assert!(nix::unistd::write(arena.for_readers(), b"x").is_err());
        assert!(nix::unistd::ftruncate(arena.for_readers(), 0).is_err());
    }
}
