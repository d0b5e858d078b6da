//! What the observer knows of a worker.

use std::collections::{BTreeMap, VecDeque};

use ganger_scheduler::{CallId, Config, Timestamp, WorkerId};

pub(super) struct Worker {
    pub(super) own: bool,
    pub(super) phase: Phase,
    /// What it holds, with the slots; true: its caller is settled.
    pub(super) holds: BTreeMap<CallId, (u32, bool)>,
    /// Calls that it got in a batch and the first of it: they hold the slots of one.
    pub(super) together: BTreeMap<CallId, CallId>,
    /// It claims calls, so that some may lie before it.
    pub(super) claims: bool,
    /// What lies there, in order; true: its caller is settled.
    pub(super) line: VecDeque<(CallId, bool)>,
    pub(super) born_at: Timestamp,
    /// Since when it has no calls, of no meaning while it has some.
    pub(super) idle_since: Timestamp,
    pub(super) answered: u64,
    /// Whose place it will take, if that one serves until then.
    pub(super) replaces: Option<WorkerId>,
    /// The code may have changed since it was started.
    pub(super) stale: bool,
    /// It was stopped for its successor.
    pub(super) makes_way: bool,
    /// That it is going to be replaced was told.
    pub(super) told: bool,
    /// Samples over the limit in a row, as little as jitter allows.
    pub(super) over: u32,
    /// The first came before its first call, and none since was below.
    pub(super) over_from_birth: bool,
    /// There were enough of them once.
    pub(super) too_much: bool,
    /// When it was asked whether it lives, with no answer and no call since.
    pub(super) pinged_at: Option<Timestamp>,
    pub(super) last_pong: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Starting,
    Ready,
    /// Its replacement is ready, or waits for it to be gone.
    Retiring {
        cold: bool,
    },
    Stopping {
        cold: bool,
    },
    Killed {
        cold: bool,
    },
}

impl Worker {
    pub(super) fn new(now: Timestamp, own: bool, replaces: Option<WorkerId>) -> Self {
        Self {
            own,
            phase: Phase::Starting,
            holds: BTreeMap::new(),
            together: BTreeMap::new(),
            claims: false,
            line: VecDeque::new(),
            born_at: now,
            idle_since: now,
            answered: 0,
            replaces,
            stale: false,
            makes_way: false,
            told: false,
            over: 0,
            over_from_birth: false,
            too_much: false,
            pinged_at: None,
            last_pong: now,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Ready)
    }

    /// The pool waits for it to be gone before it starts another.
    pub(super) fn leaves_cold(&self) -> bool {
        match self.phase {
            Phase::Starting | Phase::Ready => false,
            Phase::Retiring { cold } | Phase::Stopping { cold } | Phase::Killed { cold } => cold,
        }
    }

    pub(super) fn is_in_grace(&self) -> bool {
        self.holds.values().any(|&(_, caller_is_settled)| caller_is_settled)
    }

    pub(super) fn takes_calls(&self) -> bool {
        self.phase == Phase::Ready && !self.is_in_grace()
    }

    pub(super) fn free(&self, config: &Config) -> u32 {
        let mut held = BTreeMap::new();
        for (call, &(slots, _)) in &self.holds {
            held.insert(self.together.get(call).unwrap_or(call), slots);
        }
        config.concurrency - held.values().sum::<u32>()
    }

    /// Free slots, now or once it is ready.
    pub(super) fn room(&self, config: &Config) -> u32 {
        if self.is_alive() && !self.is_in_grace() { self.free(config) } else { 0 }
    }
}
