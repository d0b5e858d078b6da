//! Where a thread waits for its call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use super::Reactor;

/// A thread's place while it waits for something about a pool; made on that thread, which reads the pool's lanes meanwhile if nobody else does.
#[derive(Debug)]
pub struct Seat {
    thread: Thread,
    /// The thread waits for the lanes, and is woken by the reactor's bell.
    leading: AtomicBool,
    reactor: Arc<Reactor>,
}

impl Seat {
    pub(crate) fn new(reactor: Arc<Reactor>) -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), leading: AtomicBool::new(false), reactor })
    }

    /// Waits until `known`, at most so long; a signal may end it sooner. Whoever makes it known calls [`Seat::wake`] afterwards.
    pub fn wait(self: &Arc<Self>, limit: Duration, known: impl Fn() -> bool) {
        self.reactor.wait(self, limit, &known);
    }

    /// Has the thread look again.
    pub fn wake(&self) {
        if !self.leading.load(Ordering::SeqCst) {
            self.thread.unpark();
        } else if self.thread.id() != thread::current().id() {
            self.reactor.ring();
        }
    }

    /// Whoever leads looks once more afterwards whether it still has to: a waker that came before found no leader to ring for.
    #[cfg(all(target_os = "linux", feature = "linux-extras"))]
    pub(super) fn lead(&self, leading: bool) {
        self.leading.store(leading, Ordering::SeqCst);
    }
}
