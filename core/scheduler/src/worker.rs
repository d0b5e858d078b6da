//! A worker from spawn to exit.

use std::collections::{BTreeMap, BTreeSet};

use crate::action::KillCause;
use crate::failure::DeathCause;
use crate::id::{CallId, WorkerId};
use crate::input::Exit;
use crate::line::Line;
use crate::recycle::{Limits, Marked, RecycleReason};
use crate::time::Timestamp;

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) id: WorkerId,
    pub(crate) origin: Origin,
    pub(crate) born_at: Timestamp,
    pub(crate) phase: Phase,
    /// Calls it runs for a caller who still waits, with what they hold of it.
    pub(crate) running: BTreeMap<CallId, Share>,
    /// Calls that it was asked to stop, whose callers are already settled. They hold their slots until it answers or dies.
    pub(crate) asked: BTreeMap<CallId, Share>,
    /// Batches that it runs, by their first calls.
    pub(crate) batches: BTreeMap<CallId, BatchHold>,
    /// Calls that wait for it and no other.
    pub(crate) pinned: BTreeSet<CallId>,
    /// Calls that lie ready at it.
    pub(crate) line: Line,
    /// Calls it has answered.
    pub(crate) answered: u64,
    pub(crate) limits: Limits,
    /// Why it is to be replaced, once it is.
    pub(crate) recycle: Option<Marked>,
    /// Whose place it will take when it is ready.
    pub(crate) replaces: Option<WorkerId>,
    /// What it was last seen to use, in bytes.
    pub(crate) memory: Option<u64>,
    /// Since when it has no calls; of no meaning while it has some.
    pub(crate) idle_since: Timestamp,
    /// When it was asked whether it lives, if it has not answered and had no call since.
    pub(crate) pinged_at: Option<Timestamp>,
}

/// What a call holds of its worker until it is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// Slots of its own.
    Slots(u32),
    /// The slots of the batch that begins with this call, with the others of it.
    Batch(CallId),
}

/// A batch holds its slots until its last call is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchHold {
    pub(crate) slots: u32,
    pub(crate) unanswered: usize,
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
    /// Finishes the calls it has and gets no more; then it is stopped. If it is `cold`, its seat stays empty until it is gone.
    Retiring { reason: RecycleReason, cold: bool },
    /// Asked to end; gets no calls.
    Stopping { why: Leaving },
    /// Killed; its exit is on its way. What it was before tells what kind of death this is.
    Killed { cause: KillCause, ready_since: Option<Timestamp>, leaving: Option<Leaving> },
}

/// Why a worker was asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaving {
    /// The pool ends.
    Close,
    /// It had nothing to do.
    Idle,
    /// It was replaced, or its replacement waits for it to be gone.
    Recycled { cold: bool },
}

impl Worker {
    pub(crate) fn new(id: WorkerId, origin: Origin, limits: Limits, now: Timestamp) -> Self {
        Self {
            id,
            origin,
            born_at: now,
            phase: Phase::Starting,
            running: BTreeMap::new(),
            asked: BTreeMap::new(),
            batches: BTreeMap::new(),
            pinned: BTreeSet::new(),
            line: Line::default(),
            answered: 0,
            limits,
            recycle: None,
            replaces: None,
            memory: None,
            idle_since: now,
            pinged_at: None,
        }
    }

    /// A call is answered: the slots that come free.
    pub(crate) fn give_back(&mut self, share: Share) -> u32 {
        let first = match share {
            Share::Slots(slots) => return slots,
            Share::Batch(first) => first,
        };
        let batch = self.batches.get_mut(&first).expect("a batch is there until its last call is answered");
        batch.unanswered -= 1;
        let (slots, is_over) = (batch.slots, batch.unanswered == 0);
        if !is_over {
            return 0;
        }
        self.batches.remove(&first);
        slots
    }

    /// Serves now or will.
    pub(crate) fn is_alive(&self) -> bool {
        match self.phase {
            Phase::Starting | Phase::Ready { .. } => true,
            Phase::Retiring { .. } | Phase::Stopping { .. } | Phase::Killed { .. } => false,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    pub(crate) fn has_nothing(&self) -> bool {
        self.running.is_empty() && self.asked.is_empty() && self.pinned.is_empty() && self.line.is_empty()
    }

    /// When it became ready, if it ever did.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Starting => None,
            Phase::Ready { since } => Some(since),
            // Only a worker that was ready retires or is asked to stop; when that was is no longer of interest.
            Phase::Retiring { .. } | Phase::Stopping { .. } => Some(self.born_at),
            Phase::Killed { ready_since, .. } => ready_since,
        }
    }

    /// What it was asked to end for, if it was.
    pub(crate) fn leaving(&self) -> Option<Leaving> {
        match self.phase {
            Phase::Starting | Phase::Ready { .. } | Phase::Retiring { .. } => None,
            Phase::Stopping { why } => Some(why),
            Phase::Killed { leaving, .. } => leaving,
        }
    }

    /// Its seat must not be filled before it is gone.
    pub(crate) fn holds_its_seat(&self) -> bool {
        let cold_leaving = matches!(self.leaving(), Some(Leaving::Recycled { cold: true }));
        matches!(self.phase, Phase::Retiring { cold: true, .. }) || cold_leaving
    }

    /// Another serves in its place already, and it is not gone yet.
    pub(crate) fn outstays_its_replacement(&self) -> bool {
        matches!(self.leaving(), Some(Leaving::Recycled { cold: false }))
    }

    /// Why it died, given how its process ended.
    pub(crate) fn death_cause(&self, exit: Exit) -> DeathCause {
        let by_itself = match exit {
            Exit::Code(_) | Exit::Unknown => DeathCause::Exit,
            Exit::Signal(_) => DeathCause::Signal,
            Exit::NotStarted => DeathCause::NotStarted,
            Exit::Detached => DeathCause::Detached,
        };
        match (self.phase, exit) {
            (Phase::Killed { cause, .. }, _) => match cause {
                KillCause::CancelKill { culprit } => DeathCause::CancelKill { culprit },
                KillCause::StartTimeout => DeathCause::StartTimeout,
                KillCause::Protocol => DeathCause::Protocol,
                KillCause::Unresponsive => DeathCause::Unresponsive,
                KillCause::Close => self.leaving().map_or(DeathCause::Close, Leaving::cause),
            },
            // It went as it was asked to; its code tells whether its hooks did well. A signal came from somewhere else.
            (Phase::Stopping { why }, Exit::Code(_) | Exit::Unknown | Exit::Detached) => why.cause(),
            (Phase::Starting | Phase::Ready { .. } | Phase::Retiring { .. } | Phase::Stopping { .. }, _) => {
                by_itself
            }
        }
    }
}

impl Leaving {
    fn cause(self) -> DeathCause {
        match self {
            Self::Close => DeathCause::Close,
            Self::Idle => DeathCause::Idle,
            Self::Recycled { .. } => DeathCause::Recycled,
        }
    }
}
