//! Who reads while no thread of the app does: the IO thread, behind the gate, and the watchman who opens it.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::Interest;

use super::leading::{Found, Lead, Reactor, Sets};
use crate::process::watch;

/// How long nobody may come before the IO thread reads again.
const LAPSE: Duration = Duration::from_millis(1);
/// After so many lapses under one leader it is left to that one to open the gate, so that a long call wakes nobody.
const PATIENCE: u32 = 4;

/// The IO thread's task: reads whatever the gate lets through.
pub(super) async fn read_behind_gate(reactor: Arc<Reactor>, sets: Arc<Sets>) {
    let Ok(watched) = watch(sets.gate.as_fd(), Interest::READABLE) else { return };
    while let Ok(mut ready) = watched.readable().await {
        let found = match reactor.try_lead() {
            Some(mut lead) if !reactor.is_shut.load(Ordering::Relaxed) => {
                reactor.turn(&sets, &mut lead, Duration::ZERO)
            }
            // Whoever holds the lead for a moment, with the gate open, need not be one who reads.
            None if !reactor.is_shut.load(Ordering::Acquire) => Ok(Found::Some),
            // Whoever leads reads it.
            Some(_) | None => Ok(Found::Nothing),
        };
        match found {
            Ok(Found::Nothing | Found::All) => ready.clear_ready(),
            Ok(Found::Some) | Err(_) => tokio::task::yield_now().await,
        }
        reactor.pass_on();
    }
}

/// Opens the gate again once the threads of the app have something else to do.
pub(super) async fn watch_leaders(reactor: Arc<Reactor>, sets: Arc<Sets>) {
    loop {
        reactor.gate_shut.notified().await;
        let mut seen = reactor.left.load(Ordering::Relaxed);
        let mut under_one = 0;
        loop {
            tokio::time::sleep(LAPSE).await;
            reactor.corking.end();
            let left = reactor.left.load(Ordering::Relaxed);
            let came_back = std::mem::replace(&mut seen, left) != left;
            under_one = if came_back { 0 } else { under_one + 1 };
            if let Some(mut lead) = reactor.try_lead() {
                if !came_back {
                    reactor.open_gate(&sets, &mut lead);
                    break;
                }
            } else if under_one >= PATIENCE {
                reactor.unwatched.store(true, Ordering::SeqCst);
                // If that one has left just now, it has not seen this.
                reactor.open_gate_if_unwatched(&sets);
                break;
            }
        }
    }
}

impl Reactor {
    fn open_gate(&self, sets: &Sets, lead: &mut Lead) {
        if self.is_shut.swap(false, Ordering::AcqRel) {
            sets.open_gate(true);
            // The gate tells of what comes from now on; what came before may be no news to it.
            self.read_all(sets, lead);
        }
    }

    fn read_all(&self, sets: &Sets, lead: &mut Lead) {
        while matches!(self.turn(sets, lead, Duration::ZERO), Ok(Found::Some) | Err(_)) {}
    }

    pub(super) fn shut_gate(&self, sets: &Sets) {
        self.is_shut.store(true, Ordering::Release);
        sets.open_gate(false);
        self.gate_shut.notify_one();
    }

    /// For one that has just let go of the lead. If somebody else has it by now, that one comes here next.
    pub(super) fn open_gate_if_unwatched(&self, sets: &Sets) {
        if self.unwatched.load(Ordering::SeqCst)
            && let Some(mut lead) = self.try_lead()
        {
            self.unwatched.store(false, Ordering::SeqCst);
            self.open_gate(sets, &mut lead);
        }
    }

    /// An event loop will come and read. False: another thread does.
    pub(super) fn attend(&self) -> bool {
        let (Some(sets), Some(_lead)) = (self.sets.get(), self.try_lead()) else { return false };
        if !self.is_shut.load(Ordering::Relaxed) {
            self.shut_gate(sets);
        }
        self.left.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// What is there to read, if nobody else reads and the gate is shut for the sake of those who do. May stay awake for what is about to
    /// come.
    pub(super) fn read_in_turn(&self, awake: bool) -> bool {
        let (Some(sets), Some(mut lead)) = (self.sets.get(), self.try_lead()) else { return false };
        let is_ours = self.is_shut.load(Ordering::Relaxed);
        if !is_ours || !awake || !matches!(self.stay_awake(sets, &mut lead), Ok(Found::Nothing | Found::All))
        {
            self.read_all(sets, &mut lead);
        }
        self.left.fetch_add(1, Ordering::Relaxed);
        drop(lead);
        self.open_gate_if_unwatched(sets);
        self.pass_on();
        is_ours
    }
}
