//! The app's end of an input stream.

use std::future::poll_fn;
use std::mem;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use ganger_scheduler::CallId;

use super::{Supply, Wake, waiting};
use crate::call::Input;
use crate::error::Error;
use crate::process::ProcessTag;
use crate::reactor::Reactor;
use crate::shared::Shared;

/// Sends items into a call ([`Pool::stream_with_inputs`](crate::Pool::stream_with_inputs)): while it waits, starts and runs, beside the items
/// that it yields.
///
/// Items arrive in the order sent. At most 64 of them or 4 MiB are on their way that the function has not read: then [`try_send`](Self::try_send)
/// gives the item back, and the sender has itself woken ([`notify`](Self::notify)), blocks ([`send_blocking`](Self::send_blocking)) or awaits ([`send`](Self::send)).
///
/// [`finish`](Self::finish) is the end of the stream; dropping it unfinished is [`fail`](Self::fail), so that a function never takes what broke off for what was
/// complete. Once the call has ended, for whatever reason, everything is [`Sent::Over`]: no error of the sender's, the end says what happened.
#[derive(Debug)]
pub struct Inputs {
    supply: Arc<Supply>,
    call: Option<CallId>,
    pool: Weak<Shared>,
    reactor: Arc<Reactor>,
    max_payload: u64,
    made_in: ProcessTag,
}

/// What became of an item.
#[derive(Debug)]
pub enum Sent {
    /// It is on its way.
    Taken,
    /// There is no credit for it now. Here it is again.
    Full(Input),
    /// The call has ended, or the stream was finished: no more items are wanted.
    Over,
}

impl Inputs {
    pub(crate) fn new(
        supply: Arc<Supply>,
        call: Option<CallId>,
        pool: &Arc<Shared>,
        made_in: ProcessTag,
    ) -> Self {
        let (reactor, max_payload) = (Arc::clone(&pool.reactor), pool.options.max_payload);
        Self { supply, call, pool: Arc::downgrade(pool), reactor, max_payload, made_in }
    }

    /// Sends an item if there is credit for it. Make a long one with [`Pool::copied`](crate::Pool::copied) or [`Pool::reserve`](crate::Pool::reserve), so that it is copied once.
    ///
    /// # Errors
    /// `PAYLOAD_TOO_LARGE`; the stream goes on without the item.
    pub fn try_send(&self, item: Input) -> Result<Sent, Box<Error>> {
        if !self.made_in.is_here() {
            return Ok(Sent::Over);
        }
        let bytes = item.payload.len() as u64;
        if bytes > self.max_payload {
            return Err(Box::new(Error::payload_too_large("item", bytes, self.max_payload)));
        }
        let Some(pool) = self.pool.upgrade() else { return Ok(Sent::Over) };
        Ok(self.supply.try_send(pool.in_shared_memory(item)))
    }

    /// Has `wake` called as soon as an item may be sent again, or none is wanted any more; at once, on this thread, if that is so. A second `wake`
    /// takes the place of the first.
    pub fn notify(&self, wake: Wake) {
        let at_once = if self.made_in.is_here() { self.supply.arm(wake) } else { Some(wake) };
        if let Some(wake) = at_once {
            wake();
        }
    }

    /// Sends an item as soon as there is credit for it, waiting at most for `limit`. [`Sent::Full`]: there was none by then. Not for the threads of an async runtime.
    ///
    /// # Errors
    /// As [`try_send`](Self::try_send).
    pub fn send_blocking(&self, mut item: Input, limit: Option<Duration>) -> Result<Sent, Box<Error>> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            match self.try_send(item)? {
                Sent::Full(again) if self.wait(until) => item = again,
                sent @ (Sent::Taken | Sent::Full(_) | Sent::Over) => return Ok(sent),
            }
        }
    }

    /// Sends an item as soon as there is credit for it.
    ///
    /// # Errors
    /// As [`try_send`](Self::try_send).
    pub async fn send(&self, mut item: Input) -> Result<Sent, Box<Error>> {
        loop {
            match self.try_send(item)? {
                Sent::Full(again) => item = again,
                sent @ (Sent::Taken | Sent::Over) => return Ok(sent),
            }
            let mut asked = false;
            poll_fn(|context| {
                if mem::replace(&mut asked, true) {
                    return Poll::Ready(());
                }
                let waker = context.waker().clone();
                self.notify(Box::new(move || waker.wake()));
                Poll::Pending
            })
            .await;
        }
    }

    /// The end of the input stream: the function sees it after the items before it. The call goes on.
    pub fn finish(&self) {
        if self.made_in.is_here() {
            self.supply.finish();
        }
    }

    /// The source of the items has failed: the call is given up, and settled with `error` (`CANCELLED` if there is none). The function sees a cancel, never an end.
    /// After [`finish`](Self::finish), or the call's end, it does nothing.
    pub fn fail(&self, error: Option<Box<Error>>) {
        if !self.made_in.is_here() || self.supply.is_done() {
            return;
        }
        if let (Some(call), Some(pool)) = (self.call, self.pool.upgrade()) {
            pool.give_up(call, error);
        }
    }

    /// Whether the call has ended: nobody wants items any more.
    pub fn is_over(&self) -> bool {
        self.made_in.is_here() && self.supply.is_over()
    }

    fn wait(&self, until: Option<Instant>) -> bool {
        let arm = |wake| self.supply.arm(wake);
        waiting::wait(&self.reactor, until, arm, || self.supply.need_not_wait())
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        if self.made_in.is_here() {
            self.fail(None);
        } else {
            // Its locks may be held by threads that do not exist here: the copy stays in memory, untouched.
            mem::forget(Arc::clone(&self.supply));
        }
    }
}
