//! What an app holds of a call that answers with many values, or is given many.
//!
//! [`Stream`] takes items as they come, [`Inputs`] sends them into a running call. Neither ever blocks the pool: what has come and was not
//! taken waits in a bounded window, and the worker waits for credit (SPEC 5.2).

mod inputs;
mod route;
mod supply;
mod unread;
mod waiting;
mod window;

use std::future::poll_fn;
use std::mem;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ganger_scheduler::{CallId, Input as News};

use crate::call::{Outcome, Reply};
use crate::error::Error;
use crate::process::ProcessTag;
use crate::reactor::Reactor;
use crate::shared::Shared;

pub use inputs::{Inputs, Sent};
pub(crate) use route::Route;
pub(crate) use supply::Supply;
pub(crate) use unread::Unread;
pub(crate) use window::Window;

/// Called once, when there is something to do again. It may run on the IO thread, on any that waits for something of the pool, or on the one that arms it: it must be quick, must not
/// run an app's code, and must not call into the handle that it was given to.
pub type Wake = Box<dyn FnOnce() + Send>;

/// The items of a call, in order, and its end ([`Pool::stream`](crate::Pool::stream)).
///
/// A stream is read by one reader at a time: [`take`](Self::take) what has come, and when nothing has, have yourself woken
/// ([`notify`](Self::notify)), block ([`take_blocking`](Self::take_blocking)) or await ([`next`](Self::next)). Everything but the waits returns at once.
///
/// **Order.** Items come as the function yielded them. The end comes after all of them, also when it is an error: of the function, a timeout,
/// a deadline, the worker's death. Only [`cancel`](Self::cancel) throws away what was not taken.
///
/// **Backpressure.** The worker may be 64 items or 4 MiB ahead of the reader, then its function waits. Taking items lets it go on. A
/// reader that hands items on to somebody slower takes them with [`take_ahead`](Self::take_ahead) and calls [`grant`](Self::grant) as they are used.
///
/// **Early leave.** Dropping the stream before its end cancels the call, wherever it is. Its slots stay held until the worker has answered.
///
/// The call is an ordinary one in everything else: it waits in the queue, its clocks run, it is in `stats()` and `calls()`. It is never tried
/// again once a byte of it was written. In a forked child it ends with `FORKED`.
#[derive(Debug)]
pub struct Stream {
    unread: Arc<Unread>,
    call: Option<CallId>,
    pool: Weak<Shared>,
    reactor: Arc<Reactor>,
    made_in: ProcessTag,
}

/// What was taken of a stream at once.
#[derive(Debug, Default)]
pub struct Batch {
    /// Items, in order. Their `attempts` say nothing yet and are 0.
    pub items: Vec<Reply>,
    /// How the call ended, once: after these items comes nothing more. The function's final value is nil for most functions.
    pub end: Option<Outcome>,
}

impl Batch {
    /// Whether there is neither an item nor the end.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.end.is_none()
    }
}

impl Stream {
    pub(crate) fn new(
        unread: Arc<Unread>,
        call: Option<CallId>,
        pool: &Arc<Shared>,
        made_in: ProcessTag,
    ) -> Self {
        Self { unread, call, pool: Arc::downgrade(pool), reactor: Arc::clone(&pool.reactor), made_in }
    }

    /// The call's id, as in `calls()`; none if it was refused at once.
    pub fn call(&self) -> Option<CallId> {
        self.call
    }

    /// Takes what has come, `at_most` so many items, and lets the worker send as many more. Empty: nothing has come yet, or the end was
    /// taken before ([`is_over`](Self::is_over)).
    pub fn take(&self, at_most: usize) -> Batch {
        let batch = self.take_ahead(at_most);
        self.grant(batch.items.len());
        batch
    }

    /// Takes what has come without letting the worker send more: for readers that hold items for somebody slower. See [`grant`](Self::grant).
    pub fn take_ahead(&self, at_most: usize) -> Batch {
        if !self.made_in.is_here() {
            return Batch { items: Vec::new(), end: Some(Err(Box::new(Error::forked()))) };
        }
        self.unread.take(at_most)
    }

    /// So many of the items that were taken ahead have been used, the earliest first: the worker may send more. More than were taken count as all.
    pub fn grant(&self, items: usize) {
        if items > 0 && self.made_in.is_here() {
            self.unread.grant(items);
        }
    }

    /// Has `wake` called as soon as there is something to take; at once, on this thread, if there already is or the end was taken. One wake-up
    /// is for all items that come until somebody looks. A second `wake` takes the place of the first, which is dropped uncalled; none is called
    /// after the stream was dropped.
    pub fn notify(&self, wake: Wake) {
        let at_once = if self.made_in.is_here() { self.unread.arm(wake) } else { Some(wake) };
        if let Some(wake) = at_once {
            wake();
        }
    }

    /// Blocks until something has come, at most for `limit`, and takes it. None: nothing has. An empty batch: the end was taken before.
    /// Not for the threads of an async runtime.
    pub fn take_blocking(&self, at_most: usize, limit: Option<Duration>) -> Option<Batch> {
        if self.made_in.is_here() {
            let until = limit.and_then(|limit| Instant::now().checked_add(limit));
            let arm = |wake| self.unread.arm(wake);
            if !waiting::wait(&self.reactor, until, arm, || self.unread.has_news()) {
                return None;
            }
        }
        Some(self.take(at_most))
    }

    /// The next item; none after the end. An error is the last thing that comes. A final value is dropped: [`take`](Self::take) gives it.
    pub async fn next(&self) -> Option<Result<Reply, Box<Error>>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// [`next`](Self::next) for futures.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Result<Reply, Box<Error>>>> {
        // Without the end: behind an item it would be lost.
        if self.made_in.is_here()
            && let Some(item) = self.unread.take_item()
        {
            self.grant(1);
            return Poll::Ready(Some(Ok(item)));
        }
        // If an item has come since, the waker is called at once.
        self.poll_take(context, 0).map(|batch| batch.end?.err().map(Err))
    }

    /// [`take`](Self::take) for futures. Ready with an empty batch: the end was taken before.
    pub fn poll_take(&self, context: &mut Context<'_>, at_most: usize) -> Poll<Batch> {
        let batch = self.take(at_most);
        if !batch.is_empty() || self.is_over() {
            return Poll::Ready(batch);
        }
        let waker = context.waker().clone();
        self.notify(Box::new(move || waker.wake()));
        Poll::Pending
    }

    /// Whether the end was taken: nothing comes any more.
    pub fn is_over(&self) -> bool {
        self.made_in.is_here() && self.unread.is_over()
    }

    /// Gives the call up: what was not taken is dropped, and the end, `CANCELLED`, is there at once. A call that has ended already keeps its end.
    pub fn cancel(&self) {
        if self.made_in.is_here() {
            self.tell_cancel();
            // After it: what came until then was put there before the end.
            self.unread.discard();
        }
    }

    fn tell_cancel(&self) {
        if let (Some(call), Some(pool)) = (self.call, self.pool.upgrade()) {
            pool.tell(News::Cancel { call });
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.made_in.is_here() {
            // Its locks may be held by threads that do not exist here: the copy stays in memory, untouched.
            return mem::forget(Arc::clone(&self.unread));
        }
        if self.unread.abandon() {
            self.tell_cancel();
        }
    }
}
