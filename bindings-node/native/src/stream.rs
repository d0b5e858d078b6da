//! The items of a call on their way to JavaScript.

use std::collections::VecDeque;
use std::sync::Arc;

use ganger::Stream;
use napi::bindgen_prelude::{Array, BufferSlice, Env};
use napi_derive::napi;

use crate::bell::now_or_later;
use crate::delivery::{self, Room, Settled};
use crate::fault;
use crate::mailbox::Mailbox;

/// How many items are taken of core at once: as many as a worker may be ahead.
const AT_ONCE: usize = 64;
/// In the place of a ticket.
const ITEM: f64 = 0.0;
const END: f64 = 1.0;

/// When it is collected, the call is given up.
#[napi]
pub struct NativeStream {
    stream: Stream,
    mailbox: Arc<Mailbox>,
    /// What was taken of core and not of this.
    taken: VecDeque<Settled>,
    /// What did not fit into the inbox.
    apart: Vec<Settled>,
}

impl NativeStream {
    pub(crate) fn new(stream: Stream, mailbox: Arc<Mailbox>) -> Self {
        Self { stream, mailbox, taken: VecDeque::new(), apart: Vec::new() }
    }
}

#[napi]
impl NativeStream {
    /// The call's number in the pool, or 0 if it was refused at once.
    #[napi(getter, catch_unwind)]
    pub fn call(&self) -> f64 {
        self.stream.call().map_or(0.0, |call| call.0 as f64)
    }

    /// Whether `take` has something to give, once more after the end too. If it has not, `number` appears in `takeBells` when it has.
    #[napi(catch_unwind)]
    pub fn ready(&self, number: f64) -> bool {
        !self.taken.is_empty() || now_or_later(&self.mailbox, number, |wake| self.stream.notify(wake))
    }

    /// Writes what has come into `inbox`, as `delivery` describes: items with the ticket 0, the end with 1. Returns twice the number of
    /// records, plus 1 if something lies apart.
    #[napi(catch_unwind)]
    pub fn take(&mut self, mut inbox: BufferSlice<'_>) -> u32 {
        if self.taken.is_empty() {
            let batch = self.stream.take_ahead(AT_ONCE);
            let items = batch.items.into_iter().map(|item| Settled { ticket: ITEM, outcome: Ok(item) });
            let end = batch.end.map(|outcome| Settled { ticket: END, outcome });
            self.taken = items.chain(end).collect();
        }
        let mut room = Room::of(&inbox);
        let fitting = self.taken.iter().take_while(|settled| room.takes(settled)).count();
        self.apart = delivery::write(&mut inbox, self.taken.drain(..fitting).collect());
        2 * u32::try_from(fitting).expect("an inbox has few records") + u32::from(!self.apart.is_empty())
    }

    /// What the last `take` left apart, as `NativePool.takeApart` gives it.
    #[napi(catch_unwind)]
    pub fn take_apart<'env>(&mut self, env: &'env Env) -> napi::Result<Array<'env>> {
        delivery::apart(env, std::mem::take(&mut self.apart))
    }

    /// So many of the items that were taken have been used: the worker may send more.
    #[napi(catch_unwind)]
    pub fn grant(&self, items: u32) {
        self.stream.grant(items as usize);
    }

    /// Gives the call up, and what it has sent. The error that it ended with, as JSON; null if it has ended well, or its end was taken.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self) -> Option<String> {
        self.stream.cancel();
        let taken = std::mem::take(&mut self.taken).into_iter().find(|settled| settled.ticket == END);
        let end = taken.map(|settled| settled.outcome).or_else(|| self.stream.take_ahead(0).end)?;
        end.err().map(|error| fault::json(&error))
    }
}
