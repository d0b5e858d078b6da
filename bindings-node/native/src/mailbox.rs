//! What core's threads leave for the JavaScript thread, which is woken once for all that lies here when it comes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ganger::events::Event;
use ganger::{Encoding, Error, Outcome};
use napi::Status;
use napi::bindgen_prelude::{Function, Unknown};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

/// Weak: an idle pool does not keep the event loop alive.
type Wake = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

/// More events than this are dropped while the JavaScript thread does not come.
const EVENTS: usize = 10_000;

pub(crate) struct Mailbox {
    contents: Mutex<Contents>,
    wake: Wake,
}

/// All that lies in a mailbox.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) settled: Vec<Settled>,
    pub(crate) events: Vec<Event>,
    /// Events that were dropped.
    pub(crate) dropped: u32,
    /// Endings of the pool that were waited for.
    pub(crate) ended: Vec<f64>,
    woken: bool,
}

/// A call that is over. `ticket` is the number under which JavaScript made it.
pub(crate) struct Settled {
    pub(crate) ticket: f64,
    pub(crate) outcome: Result<(Encoding, Bytes), Box<Error>>,
}

impl Mailbox {
    /// `wake` is called on the JavaScript thread when something lies here; it must empty the mailbox.
    pub(crate) fn new(wake: &Function<'_, (), Unknown<'static>>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function::<()>().weak::<true>().build()?;
        Ok(Self { contents: Mutex::default(), wake })
    }

    pub(crate) fn settle(&self, ticket: f64, outcome: Outcome) {
        let outcome = outcome.map(|reply| (reply.encoding, reply.payload));
        self.leave(|contents| contents.settled.push(Settled { ticket, outcome }));
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.leave(|contents| {
            if contents.events.len() < EVENTS {
                contents.events.push(event.clone());
            } else {
                contents.dropped += 1;
            }
        });
    }

    pub(crate) fn end(&self, ending: f64) {
        self.leave(|contents| contents.ended.push(ending));
    }

    /// Takes what the settling of calls left. Events and endings wait for [`Mailbox::take_news`].
    pub(crate) fn take_settled(&self) -> (Vec<Settled>, bool) {
        let mut contents = self.lock();
        contents.woken = false;
        let news = !contents.events.is_empty() || !contents.ended.is_empty() || contents.dropped > 0;
        (std::mem::take(&mut contents.settled), news)
    }

    pub(crate) fn take_news(&self) -> Contents {
        let mut contents = self.lock();
        let settled = std::mem::take(&mut contents.settled);
        let woken = contents.woken;
        std::mem::replace(&mut *contents, Contents { settled, woken, ..Contents::default() })
    }

    fn leave(&self, put: impl FnOnce(&mut Contents)) {
        let woken = {
            let mut contents = self.lock();
            put(&mut contents);
            std::mem::replace(&mut contents.woken, true)
        };
        if !woken {
            // It fails once the environment has ended: then nobody is left to be told.
            self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
