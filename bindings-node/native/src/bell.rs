//! Asks core whether there is something to do now, and else has the JavaScript thread woken when there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ganger::Wake;

use crate::mailbox::Mailbox;

const ASKING: u8 = 0;
const WAITING: u8 = 1;
const RUNG: u8 = 2;

/// `ask` hands a wake-up to core. True: it was called at once, or nearly so. Otherwise `number` appears in the mailbox once it is.
pub(crate) fn now_or_later(mailbox: &Arc<Mailbox>, number: f64, ask: impl FnOnce(Wake)) -> bool {
    let state = Arc::new(AtomicU8::new(ASKING));
    let (seen, mailbox) = (Arc::clone(&state), Arc::clone(mailbox));
    ask(Box::new(move || {
        if seen.swap(RUNG, Ordering::AcqRel) == WAITING {
            mailbox.ring(number);
        }
    }));
    // Whoever comes second knows of the other: a wake-up on another thread meanwhile counts as one that came at once.
    state.compare_exchange(ASKING, WAITING, Ordering::AcqRel, Ordering::Acquire).is_err()
}
