//! Inputs that were copied lately and still lie in the arena. Who hands the same bytes over again, to another worker or once more, has
//! their block instead of a copy: to look costs no more than to copy, and the memory is there once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{Block, Lease};

/// Inputs that are looked for.
const REMEMBERED: usize = 8;

#[derive(Default)]
pub(super) struct Lately(Mutex<VecDeque<Copied>>);

struct Copied {
    /// Where the bytes lay that were copied. They may have changed since, or be others altogether.
    source: usize,
    lease: Weak<Lease>,
}

impl Lately {
    /// A block that was copied from this very place and holds what lies there now.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<Block> {
        let source = bytes.as_ptr().addr();
        let found = {
            let mut inputs = self.inputs();
            inputs.retain(|copied| copied.lease.strong_count() > 0);
            let here = inputs.iter().filter(|copied| copied.source == source);
            here.filter_map(|copied| copied.lease.upgrade().map(Block))
                .find(|it| it.as_ref().len() == bytes.len())
        };
        // Without the lock: it takes milliseconds if they are as long as that and alike.
        found.filter(|block| block.as_ref() == bytes)
    }

    pub(super) fn remember(&self, bytes: &[u8], block: &Block) {
        let mut inputs = self.inputs();
        if inputs.len() == REMEMBERED {
            inputs.pop_front();
        }
        inputs.push_back(Copied { source: bytes.as_ptr().addr(), lease: Arc::downgrade(&block.0) });
    }

    fn inputs(&self) -> MutexGuard<'_, VecDeque<Copied>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
