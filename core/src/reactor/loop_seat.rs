//! Where an event loop sits: it never sleeps here, but is told by a descriptor when there is something to read.

use std::os::fd::RawFd;
use std::sync::Arc;

use super::{Cork, Reactor};

/// A pool's lanes for the event loop of an app, which reads them in its turns as long as it makes calls.
///
/// It never blocks. When the loop is away for a moment, the pool's own thread reads again.
#[derive(Debug)]
pub struct LoopSeat(Arc<Reactor>);

impl LoopSeat {
    pub(crate) fn new(reactor: Arc<Reactor>) -> Self {
        Self(reactor)
    }

    /// What is readable when there is something to read; as long as this lives. None where no loop can sit, or not yet: before the first
    /// worker has been started.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.0.descriptor()
    }

    /// The loop will read, because it has just made a call. False: somebody else does.
    pub fn attend(&self) -> bool {
        self.0.attend()
    }

    /// Reads what there is and settles whatever that answers, on this thread. False: the loop is not the one to read any more.
    pub fn read(&self) -> bool {
        self.0.read_in_turn(false)
    }

    /// Holds back what this thread hands over: for while the app is told of several answers, upon which it makes its next calls.
    pub fn cork(&self) -> Cork {
        self.0.cork()
    }

    /// The same, and for some microseconds also what is about to come, if answers have come so quickly before.
    pub fn read_soon(&self) -> bool {
        self.0.read_in_turn(true)
    }
}
