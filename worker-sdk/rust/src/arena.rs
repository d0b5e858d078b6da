//! Shared memory as a worker sees it (SPEC 2.3): inputs are read where they lie, results are left for the host.
//!
//! Through the descriptors: one copy, and no memory that somebody else could change while it is borrowed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ganger_protocol::message::SharedMemory;
use ganger_protocol::{Arena, Blocks, Bytes, Extent, Reference};

use crate::transport;

/// Both arenas of a worker.
pub(crate) struct Arenas {
    inputs: File,
    results: File,
    threshold: u64,
    max_payload: u64,
    free: Mutex<Free>,
}

struct Free {
    blocks: Blocks,
    /// What the host reads, until it says that it has done.
    lent: Vec<Extent>,
}

impl Arenas {
    /// Takes over the descriptors that WELCOME names.
    pub(crate) fn open(offered: &SharedMemory, max_payload: u64) -> io::Result<Self> {
        let open = |number| transport::inherited(number).map(File::from);
        // The host takes memory from blocks that it gives back, so all of them may be kept.
        let free = Free { blocks: Blocks::new(offered.result_size, u64::MAX), lent: Vec::new() };
        Ok(Self {
            inputs: open(offered.input_fd)?,
            results: open(offered.result_fd)?,
            threshold: offered.threshold,
            max_payload,
            free: Mutex::new(free),
        })
    }

    /// An input.
    pub(crate) fn read(&self, reference: Reference) -> io::Result<Bytes> {
        let length = usize::try_from(reference.length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut bytes = vec![0; length];
        self.inputs.read_exact_at(&mut bytes, reference.offset)?;
        Ok(bytes.into())
    }

    /// A result as a reference. None: it is small or too large, or there is no room, or no memory.
    pub(crate) fn write(&self, payload: &[u8]) -> Option<Reference> {
        let length = payload.len() as u64;
        if length < self.threshold || length > self.max_payload {
            return None;
        }
        let extent = self.free().take(length)?;
        if self.results.write_all_at(payload, extent.offset).is_err() {
            self.free().give(extent);
            return None;
        }
        self.free().lent.push(Extent { backed: length.max(extent.backed), ..extent });
        Some(Reference { arena: Arena::Result, offset: extent.offset, length })
    }

    /// The host has done with these blocks. What is not lent is ignored (R45).
    pub(crate) fn release(&self, offsets: &[u64]) {
        let mut free = self.free();
        for offset in offsets {
            if let Some(at) = free.lent.iter().position(|extent| extent.offset == *offset) {
                let extent = free.lent.swap_remove(at);
                free.give(extent);
            }
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Free {
    fn take(&mut self, length: u64) -> Option<Extent> {
        self.blocks.take(length).or_else(|| {
            for extent in self.blocks.drop_kept() {
                self.blocks.strip(extent);
            }
            self.blocks.take(length)
        })
    }

    fn give(&mut self, extent: Extent) {
        for surplus in self.blocks.give(extent) {
            self.blocks.strip(surplus);
        }
    }
}
