//! A worker from spawn to exit.

use std::collections::BTreeMap;

use crate::action::KillCause;
use crate::failure::DeathCause;
use crate::id::{CallId, WorkerId};
use crate::input::Exit;
use crate::time::Timestamp;

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) origin: Origin,
    pub(crate) born_at: Timestamp,
    pub(crate) phase: Phase,
    /// Calls it runs for a caller who still waits, with their slots.
    pub(crate) running: BTreeMap<CallId, u32>,
    /// Calls that it was asked to stop, whose callers are already settled. They hold their slots until it answers or dies.
    pub(crate) asked: BTreeMap<CallId, u32>,
    /// Calls it has answered.
    pub(crate) answered: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Started by the pool, and replaced by it.
    Spawned,
    /// Came by itself; nobody replaces it.
    Attached,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Not ready yet.
    Starting,
    /// Takes calls, unless it was asked to stop one.
    Ready { since: Timestamp },
    /// Asked to end; gets no calls.
    Stopping,
    /// Killed; its exit is on its way. `ready_since` is kept to tell what kind of death this is.
    Killed { cause: KillCause, ready_since: Option<Timestamp> },
}

impl Worker {
    pub(crate) fn new(id: WorkerId, origin: Origin, now: Timestamp) -> Self {
        Self {
            id,
            origin,
            born_at: now,
            phase: Phase::Starting,
            running: BTreeMap::new(),
            asked: BTreeMap::new(),
            answered: 0,
        }
    }

    /// Serves now or will.
    pub(crate) fn is_alive(&self) -> bool {
        match self.phase {
            Phase::Starting | Phase::Ready { .. } => true,
            Phase::Stopping | Phase::Killed { .. } => false,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    pub(crate) fn has_nothing(&self) -> bool {
        self.running.is_empty() && self.asked.is_empty()
    }

    /// When it became ready, if it ever did.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Starting => None,
            Phase::Ready { since } => Some(since),
            // Only a worker that was ready is asked to stop; when is no longer of interest.
            Phase::Stopping => Some(self.born_at),
            Phase::Killed { ready_since, .. } => ready_since,
        }
    }

    /// Why it died, given how its process ended.
    pub(crate) fn death_cause(&self, exit: Exit) -> DeathCause {
        match (self.phase, exit) {
            (Phase::Killed { cause: KillCause::CancelKill { culprit }, .. }, _) => {
                DeathCause::CancelKill { culprit }
            }
            (Phase::Killed { cause: KillCause::StartTimeout, .. }, _) => DeathCause::StartTimeout,
            (Phase::Killed { cause: KillCause::Protocol, .. }, _) => DeathCause::Protocol,
            (Phase::Killed { cause: KillCause::Close, .. }, _) | (Phase::Stopping, Exit::Code(0)) => {
                DeathCause::Close
            }
            (_, Exit::Code(_) | Exit::Unknown) => DeathCause::Exit,
            (_, Exit::Signal(_)) => DeathCause::Signal,
            (_, Exit::NotStarted) => DeathCause::NotStarted,
            (_, Exit::Detached) => DeathCause::Detached,
        }
    }
}
