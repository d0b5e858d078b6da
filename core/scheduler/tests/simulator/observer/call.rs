//! What the observer knows of a call.

use std::time::Duration;

use ganger_scheduler::{CallId, CallSpec, Failure, Started, Timestamp, WorkerId};

use super::{Verdict, law};

pub(super) struct Call {
    pub(super) spec: CallSpec,
    pub(super) submitted_at: Timestamp,
    pub(super) assigned_at: Timestamp,
    /// Most time of the attempt that runs.
    pub(super) timeout: Option<Duration>,
    /// Begun, those whose frame was never written not counted.
    pub(super) attempts: u32,
    pub(super) lost: u32,
    pub(super) started: Started,
    /// The same of attempts that are over.
    pub(super) started_before: Started,
    pub(super) place: Place,
    /// It waits, and lies at this worker.
    pub(super) lies_at: Option<WorkerId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Waits for room in the queue.
    Lobby,
    Fresh,
    Returned,
    /// Waits for one worker alone.
    Pinned,
    At(WorkerId),
}

impl Call {
    pub(super) fn new(spec: CallSpec, now: Timestamp, place: Place) -> Self {
        Self {
            timeout: spec.timeout,
            spec,
            submitted_at: now,
            assigned_at: now,
            attempts: 0,
            lost: 0,
            started: Started::No,
            started_before: Started::No,
            place,
            lies_at: None,
        }
    }

    pub(super) fn waits_in_queue(&self) -> bool {
        matches!(self.place, Place::Fresh | Place::Returned)
    }

    pub(super) fn heard(&mut self) {
        self.started = Started::Yes;
    }

    /// A clock ends only what it is about, and when it is due.
    pub(super) fn check_clock(&self, now: Timestamp, id: CallId, failure: &Failure) -> Verdict {
        let due =
            |span: Option<Duration>, since: Timestamp| span.is_some_and(|span| now.since(since) >= span);
        let fair = match failure {
            Failure::QueueTimeout { .. } => {
                self.attempts == 0 && due(self.spec.queue_timeout, self.submitted_at)
            }
            Failure::Timeout { .. } => {
                matches!(self.place, Place::At(_)) && due(self.timeout, self.assigned_at)
            }
            Failure::DeadlineExceeded { .. } => due(self.spec.deadline, self.submitted_at),
            Failure::QueueFull { .. }
            | Failure::Cancelled
            | Failure::WorkerDied { .. }
            | Failure::StartFailed
            | Failure::PoolClosed
            | Failure::TooManySlots { .. } => true,
        };
        law(fair, || format!("{id}: {failure:?} comes too early or to the wrong call"))
    }

    /// After the clocks have fired nobody waits for a first attempt, or runs, longer than he wants to.
    pub(super) fn check_patience(&self, now: Timestamp, id: CallId) -> Verdict {
        // Of what lies before a worker it is not known yet whether it waits.
        let (bound, since) = match self.place {
            _ if self.lies_at.is_some() => (None, now),
            Place::At(_) => (self.timeout, self.assigned_at),
            Place::Lobby | Place::Fresh | Place::Returned | Place::Pinned if self.attempts == 0 => {
                (self.spec.queue_timeout, self.submitted_at)
            }
            Place::Lobby | Place::Fresh | Place::Returned | Place::Pinned => (None, now),
        };
        law(bound.is_none_or(|span| now.since(since) < span), || format!("{id} is over its time"))
    }
}
