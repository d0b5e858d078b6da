//! Items of a call's input stream that have come and were not read: between the thread that reads the lane and
//! the function. Credit bounds how many there are.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::session::InputItem;

/// One call's.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    news: Condvar,
    #[cfg(feature = "async")]
    pub(crate) notice: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<InputItem>,
    ended: bool,
    /// The call was asked to stop: nothing more is read.
    closed: bool,
}

/// What there is to read.
#[derive(Debug)]
pub(crate) enum Next {
    Item(InputItem),
    End,
    /// The call was asked to stop.
    Closed,
    /// Nothing yet.
    Wait,
}

impl Inbox {
    pub(crate) fn put(&self, item: InputItem) {
        self.change(|state| state.items.push_back(item));
    }

    pub(crate) fn end(&self) {
        self.change(|state| state.ended = true);
    }

    pub(crate) fn close(&self) {
        self.change(|state| {
            state.closed = true;
            state.items.clear();
        });
    }

    #[cfg(feature = "async")]
    pub(crate) fn look(&self) -> Next {
        self.lock().next()
    }

    /// Waits for what comes next.
    pub(crate) fn next(&self) -> Next {
        let mut state = self.lock();
        loop {
            match state.next() {
                Next::Wait => state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner),
                next @ (Next::Item(_) | Next::End | Next::Closed) => return next,
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.news.notify_one();
        #[cfg(feature = "async")]
        self.notice.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Next {
        if self.closed {
            return Next::Closed;
        }
        match self.items.pop_front() {
            Some(item) => Next::Item(item),
            None if self.ended => Next::End,
            None => Next::Wait,
        }
    }
}
