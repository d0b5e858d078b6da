//! What core's threads leave for the JavaScript thread, which is woken once for all that lies here when it comes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ganger::events::Event;
use ganger::{Error, Outcome, Progress};
use napi::Status;
use napi::bindgen_prelude::{Function, Unknown};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use crate::delivery::{Room, Settled};

/// Weak: an idle pool does not keep the event loop alive.
type Wake = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

/// More events than this are dropped while the JavaScript thread does not come.
const EVENTS: usize = 10_000;
/// Of more reports of one call than this only the last is kept.
const REPORTS: usize = 100;

pub(crate) struct Mailbox {
    contents: Mutex<Contents>,
    wake: Wake,
}

/// All that lies in a mailbox.
#[derive(Default)]
struct Contents {
    settled: Vec<Settled>,
    news: News,
    /// How far calls are, by ticket.
    progress: BTreeMap<u64, Vec<Progress>>,
    /// Streams, both ways, that can go on.
    bells: Vec<f64>,
    woken: bool,
}

/// What comes more rarely than the outcomes of calls.
#[derive(Default)]
pub(crate) struct News {
    pub(crate) events: Vec<Event>,
    /// Events that were dropped.
    pub(crate) dropped: u32,
    /// What was waited for, and why it will never be if it will not. The numbers are JavaScript's.
    pub(crate) awaited: Vec<(f64, Option<Box<Error>>)>,
    /// Broadcasts that are over, with the places of their workers as tickets.
    pub(crate) gathered: Vec<(f64, Vec<Settled>)>,
}

/// What is left in the mailbox.
pub(crate) struct Left {
    pub(crate) settled: bool,
    pub(crate) news: bool,
    pub(crate) progress: bool,
    pub(crate) bells: bool,
}

impl Mailbox {
    /// `wake` is called on the JavaScript thread when something lies here; it must empty the mailbox.
    pub(crate) fn new(wake: &Function<'_, (), Unknown<'static>>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function::<()>().weak::<true>().build()?;
        Ok(Self { contents: Mutex::default(), wake })
    }

    pub(crate) fn settle(&self, ticket: f64, outcome: Outcome) {
        self.leave(|contents| contents.settled.push(Settled { ticket, outcome }));
    }

    pub(crate) fn tell(&self, event: &Event) {
        self.leave(|Contents { news, .. }| {
            if news.events.len() < EVENTS {
                news.events.push(event.clone());
            } else {
                news.dropped += 1;
            }
        });
    }

    pub(crate) fn is_so(&self, number: f64, unless: Option<Box<Error>>) {
        self.leave(|contents| contents.news.awaited.push((number, unless)));
    }

    pub(crate) fn gather(&self, number: f64, outcomes: Vec<Settled>) {
        self.leave(|contents| contents.news.gathered.push((number, outcomes)));
    }

    pub(crate) fn report(&self, ticket: f64, progress: &Progress) {
        self.leave(|contents| {
            let reports = contents.progress.entry(ticket as u64).or_default();
            if reports.len() == REPORTS {
                reports.pop();
            }
            reports.push(progress.clone());
        });
    }

    pub(crate) fn ring(&self, number: f64) {
        self.leave(|contents| contents.bells.push(number));
    }

    /// Takes the outcomes of calls for which there is room, first come first. News wait for [`Mailbox::take_news`].
    pub(crate) fn take_settled(&self, room: &mut Room) -> (Vec<Settled>, Left) {
        let mut contents = self.lock();
        let fitting = contents.settled.iter().take_while(|settled| room.takes(settled)).count();
        let taken = if fitting == contents.settled.len() {
            std::mem::take(&mut contents.settled)
        } else {
            contents.settled.drain(..fitting).collect()
        };
        let left = Left {
            settled: !contents.settled.is_empty(),
            news: !contents.news.is_empty(),
            progress: !contents.progress.is_empty(),
            bells: !contents.bells.is_empty(),
        };
        // As long as something is left the caller comes again by itself.
        contents.woken = left.settled;
        (taken, left)
    }

    /// Nobody is woken for what comes until [`Mailbox::unhold`]: this is the JavaScript thread, in the middle of reading.
    pub(crate) fn hold(&self) {
        self.lock().woken = true;
    }

    /// Whether JavaScript has to empty it, and how many calls are settled.
    pub(crate) fn unhold(&self) -> (bool, usize) {
        let mut contents = self.lock();
        contents.woken = !contents.is_empty();
        (contents.woken, contents.settled.len())
    }

    pub(crate) fn take_news(&self) -> News {
        std::mem::take(&mut self.lock().news)
    }

    /// How far calls are, oldest report first.
    pub(crate) fn take_progress(&self) -> impl Iterator<Item = (f64, Progress)> {
        let calls = std::mem::take(&mut self.lock().progress);
        calls.into_iter().flat_map(|(ticket, reports)| reports.into_iter().map(move |it| (ticket as f64, it)))
    }

    pub(crate) fn take_bells(&self) -> Vec<f64> {
        std::mem::take(&mut self.lock().bells)
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

impl Contents {
    fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.news.is_empty() && self.progress.is_empty() && self.bells.is_empty()
    }
}

impl News {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.dropped == 0 && self.awaited.is_empty() && self.gathered.is_empty()
    }
}
