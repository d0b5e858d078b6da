//! Items that have come and were not taken: between the lane's reader, which puts them in under the pool's lock, and the app's thread, which
//! takes them without it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Batch, Route, Wake, Window};
use crate::call::{Outcome, Reply};

/// The reading side of one call. Its lock may be taken under the pool's, never the other way round.
#[derive(Default)]
pub(crate) struct Unread {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    items: VecDeque<Reply>,
    /// Lengths of items that were taken and are not used up.
    ahead: VecDeque<u64>,
    end: Option<Outcome>,
    window: Window,
    /// None before a worker has the call, and after its end.
    route: Option<Route>,
    /// The end was taken, or nobody will come for it.
    over: bool,
    wake: Option<Wake>,
}

impl Unread {
    /// A worker has the call.
    pub(crate) fn begin(&self, route: Route) {
        let mut state = self.lock();
        state.window = Window::default();
        state.route = Some(route);
    }

    /// An item has come. What comes back is to be called without locks. The error: there was no credit for it.
    pub(crate) fn put(&self, item: Reply) -> Result<Option<Wake>, String> {
        let mut state = self.lock();
        if !state.window.spend(item.payload.len() as u64) {
            return Err("an item without credit for it (R29)".to_owned());
        }
        if !state.over {
            state.items.push_back(item);
        }
        Ok(state.wake.take())
    }

    /// The call has ended. Not to be called under a lock.
    pub(crate) fn end(&self, outcome: Outcome) {
        let wake = {
            let mut state = self.lock();
            state.route = None;
            if !state.over {
                state.end = Some(outcome);
            }
            state.wake.take()
        };
        if let Some(wake) = wake {
            wake();
        }
    }

    pub(super) fn take(&self, at_most: usize) -> Batch {
        let mut state = self.lock();
        let count = at_most.min(state.items.len());
        let items: Vec<Reply> = state.items.drain(..count).collect();
        state.ahead.extend(items.iter().map(|item| item.payload.len() as u64));
        let end = if state.items.is_empty() { state.end.take() } else { None };
        state.over |= end.is_some();
        Batch { items, end }
    }

    pub(super) fn take_item(&self) -> Option<Reply> {
        let mut state = self.lock();
        let item = state.items.pop_front()?;
        state.ahead.push_back(item.payload.len() as u64);
        Some(item)
    }

    pub(super) fn grant(&self, items: usize) {
        let link = {
            let mut state = self.lock();
            let State { ahead, window, .. } = &mut *state;
            let used = items.min(ahead.len());
            ahead.drain(..used).for_each(|bytes| window.used(bytes));
            state.window.due().and_then(|credit| state.route.as_ref()?.push_credit(credit))
        };
        if let Some(link) = link {
            link.flush();
        }
    }

    /// Keeps `wake` for the next news. Gives it back if there are some already.
    pub(super) fn arm(&self, wake: Wake) -> Option<Wake> {
        let mut state = self.lock();
        if state.has_news() {
            return Some(wake);
        }
        let earlier = state.wake.replace(wake);
        drop(state);
        // It may hold anything: not under the lock.
        drop(earlier);
        None
    }

    /// Whether there is something to take, or nothing will ever be.
    pub(super) fn has_news(&self) -> bool {
        self.lock().has_news()
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Drops what was not taken.
    pub(super) fn discard(&self) {
        let items = std::mem::take(&mut self.lock().items);
        // They may lie in shared memory, whose return takes other locks.
        drop(items);
    }

    /// Nobody will take anything any more. True if the call may still be going on.
    pub(super) fn abandon(&self) -> bool {
        let mut state = self.lock();
        let goes_on = !state.over && state.end.is_none();
        state.over = true;
        let left = (std::mem::take(&mut state.items), state.end.take(), state.wake.take());
        drop(state);
        drop(left);
        goes_on
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_news(&self) -> bool {
        !self.items.is_empty() || self.end.is_some() || self.over
    }
}

impl std::fmt::Debug for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        f.debug_struct("Unread")
            .field("items", &state.items.len())
            .field("over", &state.over)
            .finish_non_exhaustive()
    }
}
