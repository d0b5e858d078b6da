//! One thread at a time waits for all lanes: the IO thread, or one that waits for its call.
//!
//! The lanes lie in a set of their own, and that one in a second, the gate, which the IO thread watches. While threads of the app read,
//! the gate hears nothing, so that the IO thread sleeps. A thread that has got its answer leaves the gate shut, for it will be back soon;
//! a watchman opens it again when for a moment nobody came.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::cork::Corking;
use super::vigil::{VIGIL, Vigil};
use super::{Cork, Seat, Source, gatekeeping};
use crate::link::{Link, Turn};
use crate::process::poll_set::{Bell, PollSet, Ready};

/// The numbers of the bell, and of the lanes' set in the gate. Lanes have those above.
const BELL: u64 = 0;
pub(super) const LANES: u64 = 0;

#[derive(Default)]
pub(crate) struct Reactor {
    /// Made with the first lane: many a pool never has one.
    pub(super) sets: OnceLock<Arc<Sets>>,
    /// Held by who waits for the lanes, reads them, or changes who does.
    lead: Mutex<Lead>,
    sources: Mutex<FxHashMap<u64, Arc<dyn Source>>>,
    last_number: AtomicU64,
    /// Threads that sleep until the lead is free.
    followers: Mutex<VecDeque<Arc<Seat>>>,
    /// How often a thread of the app has left off leading.
    pub(super) left: AtomicU64,
    /// Nobody looks whether a leader comes back, so whoever leaves opens the gate.
    pub(super) unwatched: AtomicBool,
    /// Threads of the app read, not the IO thread. Changed only by who has the lead.
    pub(super) is_shut: AtomicBool,
    pub(super) gate_shut: Notify,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    pub(super) corking: Arc<Corking>,
}

#[derive(Debug)]
pub(super) struct Sets {
    lanes: PollSet,
    pub(super) gate: PollSet,
    bell: Bell,
}

/// What the leader needs.
#[derive(Debug, Default)]
pub(super) struct Lead {
    ready: Ready,
    vigil: Vigil,
}

/// What a turn has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Nothing,
    /// It was read, and nothing is left.
    All,
    /// There may be more.
    Some,
}

/// A source in the set. Dropped, it is out.
pub(crate) struct Registration {
    reactor: Arc<Reactor>,
    number: u64,
}

impl Reactor {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Has a source read. Must be called within the runtime.
    pub(crate) fn add(self: &Arc<Self>, source: Arc<dyn Source>) -> io::Result<Registration> {
        let sets = self.sets_or_make()?;
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        self.sources().insert(number, Arc::clone(&source));
        let registration = Registration { reactor: Arc::clone(self), number };
        sets.lanes.add(source.descriptor(), number)?;
        Ok(registration)
    }

    pub(super) fn wait(&self, seat: &Arc<Seat>, limit: Duration, known: &dyn Fn() -> bool) {
        let begun = Instant::now();
        let left = || limit.saturating_sub(begun.elapsed());
        let mut called = false;
        while !known() && !left().is_zero() {
            if let (Some(sets), Some(lead)) = (self.sets.get(), self.try_lead()) {
                self.read_until(sets, lead, seat, &left, known);
                return self.pass_on();
            }
            called |= self.follow(seat, left());
        }
        // Called to lead, and with nothing to wait for any more.
        if called {
            self.pass_on();
        }
    }

    /// Wakes the leader, so that it looks whether it still has to lead.
    pub(super) fn ring(&self) {
        if let Some(sets) = self.sets.get() {
            sets.bell.ring();
        }
    }

    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.sets.get().map(|sets| sets.lanes.as_fd().as_raw_fd())
    }

    /// Writes what was pushed to a link, at once unless this thread is corked.
    pub(crate) fn flush(&self, link: Arc<Link>) {
        self.corking.flush(link);
    }

    pub(super) fn cork(&self) -> Cork {
        self.corking.begin()
    }

    /// Nothing is read any more.
    pub(crate) fn close(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(|task| task.abort());
    }

    /// None: somebody else leads.
    pub(super) fn try_lead(&self) -> Option<MutexGuard<'_, Lead>> {
        match self.lead.try_lock() {
            Ok(lead) => Some(lead),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Reads what is ready, or comes within the limit.
    pub(super) fn turn(&self, sets: &Sets, lead: &mut Lead, limit: Duration) -> io::Result<Found> {
        let count = sets.lanes.wait(&mut lead.ready, limit)?;
        // A full list may have left some out.
        let mut more = lead.ready.is_full(count);
        for index in 0..count {
            match lead.ready.number(index) {
                BELL => sets.bell.still(),
                number => more |= self.read(number) == Turn::ShareUsed,
            }
        }
        Ok(match (count, more) {
            (0, _) => Found::Nothing,
            (_, false) => Found::All,
            (_, true) => Found::Some,
        })
    }

    /// Looks again and again for a moment, if that is likely to pay.
    pub(super) fn stay_awake(&self, sets: &Sets, lead: &mut Lead) -> io::Result<Found> {
        if !lead.vigil.is_worth_it() {
            return Ok(Found::Nothing);
        }
        let begun = Instant::now();
        while begun.elapsed() < VIGIL {
            let found = self.turn(sets, lead, Duration::ZERO)?;
            if found != Found::Nothing {
                lead.vigil.was(false);
                return Ok(found);
            }
            thread::yield_now();
        }
        lead.vigil.was(true);
        Ok(Found::Nothing)
    }

    /// Calls one that waits to the lead.
    pub(super) fn pass_on(&self) {
        if let Some(next) = self.followers().pop_front() {
            next.wake();
        }
    }

    fn read(&self, number: u64) -> Turn {
        let Some(source) = self.sources().get(&number).cloned() else { return Turn::Ended };
        let turn = source.read();
        if turn == Turn::Ended {
            self.remove(number);
            source.end();
        }
        turn
    }

    fn read_until(
        &self,
        sets: &Sets,
        mut lead: MutexGuard<'_, Lead>,
        seat: &Arc<Seat>,
        left: &dyn Fn() -> Duration,
        known: &dyn Fn() -> bool,
    ) {
        if !self.is_shut.load(Ordering::Relaxed) {
            self.shut_gate(sets);
        }
        seat.lead(true);
        while !known() && !left().is_zero() {
            let found = match self.stay_awake(sets, &mut lead) {
                Ok(Found::Nothing) => self.turn(sets, &mut lead, left()),
                found => found,
            };
            // A signal: its handler may have to run on this thread.
            if found.is_err() {
                break;
            }
        }
        seat.lead(false);
        self.left.fetch_add(1, Ordering::Relaxed);
        drop(lead);
        self.open_gate_if_unwatched(sets);
    }

    /// Sleeps until it is told, or called to lead. Whether it was called.
    fn follow(&self, seat: &Arc<Seat>, limit: Duration) -> bool {
        self.followers().push_back(Arc::clone(seat));
        // Whoever left before we stood in line has called nobody.
        if self.sets.get().is_none() || self.try_lead().is_none() {
            thread::park_timeout(limit);
        }
        let mut followers = self.followers();
        let before = followers.len();
        followers.retain(|other| !Arc::ptr_eq(other, seat));
        followers.len() == before
    }

    fn sets_or_make(self: &Arc<Self>) -> io::Result<&Arc<Sets>> {
        if let Some(sets) = self.sets.get() {
            return Ok(sets);
        }
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sets) = self.sets.get() {
            return Ok(sets);
        }
        let made = Arc::new(Sets::new()?);
        tasks.push(tokio::spawn(gatekeeping::read_behind_gate(Arc::clone(self), Arc::clone(&made))));
        tasks.push(tokio::spawn(gatekeeping::watch_leaders(Arc::clone(self), Arc::clone(&made))));
        Ok(self.sets.get_or_init(|| made))
    }

    fn remove(&self, number: u64) {
        if let (Some(source), Some(sets)) = (self.sources().remove(&number), self.sets.get()) {
            sets.lanes.remove(source.descriptor());
        }
    }

    fn sources(&self) -> MutexGuard<'_, FxHashMap<u64, Arc<dyn Source>>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followers(&self) -> MutexGuard<'_, VecDeque<Arc<Seat>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sets {
    fn new() -> io::Result<Self> {
        let (lanes, gate, bell) = (PollSet::new()?, PollSet::new()?, Bell::new()?);
        lanes.add(bell.as_fd(), BELL)?;
        gate.add(lanes.as_fd(), LANES)?;
        Ok(Self { lanes, gate, bell })
    }

    /// Whether the IO thread hears of the lanes.
    pub(super) fn open_gate(&self, open: bool) {
        self.gate
            .heed(self.lanes.as_fd(), LANES, open)
            .expect("the lanes are in the gate as long as both live");
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.reactor.remove(self.number);
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reactor").field("sets", &self.sets).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Registration").field(&self.number).finish()
    }
}
