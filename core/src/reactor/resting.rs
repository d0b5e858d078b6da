//! Without a way to wait for several lanes on any thread: a task for each, and whoever waits sleeps.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::{Seat, Source, attend};

#[derive(Debug, Default)]
pub(crate) struct Reactor;

/// A source being read. Dropped, it is left alone.
#[derive(Debug)]
pub(crate) struct Registration(JoinHandle<()>);

impl Reactor {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Has a source read. Must be called within the runtime.
    pub(crate) fn add(self: &Arc<Self>, source: Arc<dyn Source>) -> io::Result<Registration> {
        Ok(Registration(tokio::spawn(attend(source))))
    }

    pub(super) fn wait(&self, _seat: &Seat, limit: Duration, known: &dyn Fn() -> bool) {
        let begun = Instant::now();
        while !known()
            && let Some(left) = limit.checked_sub(begun.elapsed())
        {
            thread::park_timeout(left);
        }
    }

    pub(super) fn ring(&self) {}

    /// There is no set of lanes that a loop could watch.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        None
    }

    pub(super) fn attend(&self) -> bool {
        false
    }

    pub(super) fn read_in_turn(&self, _awake: bool) -> bool {
        false
    }

    /// Nothing is read any more.
    pub(crate) fn close(&self) {}
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.0.abort();
    }
}
