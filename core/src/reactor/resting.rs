//! Without a way to wait for several lanes on any thread: a task for each, and whoever waits sleeps.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::cork::Corking;
use super::{Cork, Seat, Source, attend};
use crate::link::Link;

#[derive(Debug, Default)]
pub(crate) struct Reactor {
    corking: Arc<Corking>,
}

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

    pub(crate) fn flush(&self, link: Arc<Link>) {
        self.corking.flush(link);
    }

    /// No loop reads here, so none is told of several answers at once.
    pub(super) fn cork(&self) -> Cork {
        self.corking.begin()
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
