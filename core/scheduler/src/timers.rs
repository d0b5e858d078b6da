//! All clocks of a pool in one table; its minimum is the next wake-up.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{CallId, WorkerId};
use crate::time::Timestamp;

/// What a clock is about. One clock a key: setting it again moves it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TimerKey {
    FullTimeout(CallId),
    QueueTimeout(CallId),
    Timeout(CallId),
    Deadline(CallId),
    CancelGrace(WorkerId, CallId),
    /// Calls of a batch have waited for others long enough.
    Batch(u64),
    /// The next look whether a worker with calls before it gets on with the one it has.
    Linger(WorkerId),
    WorkerStart(WorkerId),
    WorkerStop(WorkerId),
    /// The next look whether a worker without calls should be pinged.
    Health(WorkerId),
    /// A ping must have been answered.
    Ping(WorkerId),
    /// The next look whether a worker without calls should go.
    Idle(WorkerId),
    /// A worker has lived long enough.
    Age(WorkerId),
    /// The next try to replace a worker after a replacement could not start.
    RecyclePause,
    /// The next try to start a worker after failed ones.
    StartBackoff,
    Close,
}

#[derive(Debug, Default)]
pub(crate) struct Timers {
    due_at: BTreeMap<TimerKey, Timestamp>,
    order: BTreeSet<(Timestamp, TimerKey)>,
}

impl Timers {
    pub(crate) fn set(&mut self, key: TimerKey, at: Timestamp) {
        if let Some(before) = self.due_at.insert(key, at) {
            self.order.remove(&(before, key));
        }
        self.order.insert((at, key));
    }

    pub(crate) fn clear(&mut self, key: TimerKey) {
        if let Some(at) = self.due_at.remove(&key) {
            self.order.remove(&(at, key));
        }
    }

    pub(crate) fn is_set(&self, key: TimerKey) -> bool {
        self.due_at.contains_key(&key)
    }

    /// Takes the earliest clock that is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<TimerKey> {
        let &(at, key) = self.order.first()?;
        if at > now {
            return None;
        }
        self.order.pop_first();
        self.due_at.remove(&key);
        Some(key)
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.order.first().map(|&(at, _)| at)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.due_at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_elapsed(Duration::from_secs(seconds))
    }

    #[test]
    fn the_earliest_is_next_and_setting_again_moves() {
        let mut timers = Timers::default();
        timers.set(TimerKey::Close, at(5));
        timers.set(TimerKey::Deadline(CallId(1)), at(3));
        assert_eq!(timers.next(), Some(at(3)));
        timers.set(TimerKey::Deadline(CallId(1)), at(9));
        assert_eq!(timers.next(), Some(at(5)));
        assert_eq!(timers.take_due(at(4)), None);
        assert_eq!(timers.take_due(at(9)), Some(TimerKey::Close));
        assert_eq!(timers.take_due(at(9)), Some(TimerKey::Deadline(CallId(1))));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_cleared_clock_never_fires() {
        let mut timers = Timers::default();
        timers.set(TimerKey::StartBackoff, at(1));
        timers.clear(TimerKey::StartBackoff);
        timers.clear(TimerKey::StartBackoff);
        assert_eq!(timers.take_due(at(10)), None);
        assert_eq!(timers.len(), 0);
    }
}
