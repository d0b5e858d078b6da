//! Writes that are held back while an event loop tells an app of several answers, so that the calls that it makes upon them go out together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::link::Link;

/// While it lives, what its thread hands over may stay unwritten. Dropped, all of it goes out, each worker's in one piece; what lies for more
/// than a moment goes out by itself, for the app may have something else to do first.
#[derive(Debug)]
#[must_use]
pub struct Cork(Arc<Corking>);

#[derive(Debug, Default)]
pub(super) struct Corking {
    /// Looked at first: mostly nothing is held back.
    is_on: AtomicBool,
    held: Mutex<Option<(ThreadId, Vec<Arc<Link>>)>>,
}

impl Corking {
    pub(super) fn begin(self: &Arc<Self>) -> Cork {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((thread::current().id(), Vec::new()));
        self.is_on.store(true, Ordering::Release);
        Cork(Arc::clone(self))
    }

    /// Writes what was pushed to the link, now or with the rest.
    pub(super) fn flush(&self, link: Arc<Link>) {
        if !self.is_on.load(Ordering::Acquire) || !self.hold(&link) {
            link.flush();
        }
    }

    /// Writes everything; from now on nothing is held back.
    pub(super) fn end(&self) {
        if self.is_on.swap(false, Ordering::AcqRel) {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
            held.into_iter().flat_map(|(_, links)| links).for_each(|link| link.flush());
        }
    }

    fn hold(&self, link: &Arc<Link>) -> bool {
        match &mut *self.held.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((thread, links)) if *thread == thread::current().id() => {
                if !links.iter().any(|known| Arc::ptr_eq(known, link)) {
                    links.push(Arc::clone(link));
                }
                true
            }
            Some(_) | None => false,
        }
    }
}

impl Drop for Cork {
    fn drop(&mut self) {
        self.0.end();
    }
}
