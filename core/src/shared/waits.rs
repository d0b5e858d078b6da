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

#[derive(Default)]
pub(crate) struct Waits(Vec<(Condition, Waiter)>);

impl Books {
    /// Has `waiter` told as soon as the condition holds.
    pub(crate) fn await_condition(
        &mut self,
        condition: Condition,
        waiter: Waiter,
        aftermath: &mut Aftermath,
    ) {
        self.waits.0.push((condition, waiter));
        self.look_at_waits(aftermath);
    }

    /// At the end of every step that changed something.
    pub(super) fn look_at_waits(&mut self, aftermath: &mut Aftermath) {
        if self.waits.0.is_empty() {
            return;
        }
        let (told, waiting) = std::mem::take(&mut self.waits.0)
            .into_iter()
            .map(|(condition, waiter)| (self.verdict(condition), condition, waiter))
            .partition::<Vec<_>, _>(|(verdict, ..)| verdict.is_some());
        self.waits.0 = waiting.into_iter().map(|(_, condition, waiter)| (condition, waiter)).collect();
        for (verdict, _, waiter) in told {
            aftermath.tell_waiter(waiter, verdict.expect("partitioned by it"));
        }
    }

    fn verdict(&self, condition: Condition) -> Option<Result<(), Box<Error>>> {
        let scheduler: &Scheduler = &self.scheduler;
        let is_so = match condition {
            Condition::Drained => scheduler.is_drained(),
            Condition::Room => scheduler.has_room(),
            Condition::Warm(workers) => scheduler.ready_workers().len() >= workers as usize,
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
        f.debug_list().entries(self.0.iter().map(|(condition, _)| condition)).finish()
    }
}
