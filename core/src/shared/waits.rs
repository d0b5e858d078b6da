//! Apps that wait until something is so. Levels, not edges: what is so already is told at once, and nothing can be missed.

use ganger_scheduler::{PoolPhase, Scheduler};

use super::{Aftermath, Books};
use crate::call::Waiter;
use crate::error::Error;

/// What an app waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// No call waits or runs.
    Drained,
    /// A call that is made now finds room.
    Room,
    /// So many workers are ready.
    Warm(u32),
}

/// Names a wait, to give it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitId(u64);

#[derive(Default)]
pub(crate) struct Waits {
    next: u64,
    waiting: Vec<Waiting>,
}

struct Waiting {
    id: WaitId,
    condition: Condition,
    waiter: Waiter,
}

impl Books {
    /// Has `waiter` told as soon as the condition holds.
    pub(crate) fn await_condition(
        &mut self,
        condition: Condition,
        waiter: Waiter,
        aftermath: &mut Aftermath,
    ) -> WaitId {
        self.waits.next += 1;
        let id = WaitId(self.waits.next);
        self.waits.waiting.push(Waiting { id, condition, waiter });
        self.look_at_waits(aftermath);
        id
    }

    /// Takes back a waiter that has not been told. What it holds is the caller's to let go of, without the lock.
    pub(crate) fn stop_waiting(&mut self, wait: WaitId) -> Option<Waiter> {
        let waiting = &mut self.waits.waiting;
        let place = waiting.iter().position(|waiting| waiting.id == wait)?;
        Some(waiting.remove(place).waiter)
    }

    /// At the end of every step that changed something.
    pub(super) fn look_at_waits(&mut self, aftermath: &mut Aftermath) {
        for waiting in std::mem::take(&mut self.waits.waiting) {
            match self.verdict(waiting.condition) {
                Some(verdict) => aftermath.tell_waiter(waiting.waiter, verdict),
                None => self.waits.waiting.push(waiting),
            }
        }
    }

    fn verdict(&self, condition: Condition) -> Option<Result<(), Box<Error>>> {
        let scheduler: &Scheduler = &self.scheduler;
        let is_so = match condition {
            Condition::Drained => scheduler.is_drained(),
            Condition::Room => scheduler.has_room(),
            Condition::Warm(workers) => scheduler.is_warm(workers),
        };
        if is_so {
            return Some(Ok(()));
        }
        if scheduler.phase() != PoolPhase::Running && condition != Condition::Drained {
            return Some(Err(Box::new(Error::pool_closed())));
        }
        // Nobody would ever be told that a worker cannot start, were there no call to fail for it.
        let hopeless = matches!(condition, Condition::Warm(_)) && scheduler.is_hopeless();
        hopeless.then(|| Err(Box::new(self.start_failed())))
    }
}

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.waiting.iter().map(|waiting| waiting.condition)).finish()
    }
}
