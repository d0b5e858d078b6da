//! Which worker a key prefers.

use std::collections::BTreeMap;

use crate::id::WorkerId;

/// More keys than this, and the one that was not used for longest is forgotten.
const MOST_KEYS: usize = 10_000;

/// Keys and the workers they were last served by. Keys of one that is gone wait for its successor, or move with their next call.
#[derive(Debug, Default)]
pub(crate) struct Affinity {
    workers: BTreeMap<u64, (WorkerId, u64)>,
    /// Keys by last use.
    order: BTreeMap<u64, u64>,
    uses: u64,
}

impl Affinity {
    pub(crate) fn worker(&self, key: u64) -> Option<WorkerId> {
        self.workers.get(&key).map(|&(worker, _)| worker)
    }

    /// The key is served by this worker now.
    pub(crate) fn note(&mut self, key: u64, worker: WorkerId) {
        self.uses += 1;
        if let Some((_, last)) = self.workers.insert(key, (worker, self.uses)) {
            self.order.remove(&last);
        }
        self.order.insert(self.uses, key);
        if self.workers.len() > MOST_KEYS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.workers.remove(&oldest);
        }
    }

    /// All keys of one worker go to another.
    pub(crate) fn inherit(&mut self, from: WorkerId, to: WorkerId) {
        for (worker, _) in self.workers.values_mut() {
            if *worker == from {
                *worker = to;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(index: u32) -> WorkerId {
        WorkerId { index, generation: 0 }
    }

    #[test]
    fn the_key_unused_for_longest_is_forgotten() {
        let mut affinity = Affinity::default();
        for key in 0..MOST_KEYS as u64 {
            affinity.note(key, worker(1));
        }
        affinity.note(0, worker(2));
        affinity.note(1_000_000, worker(3));
        let kept = [0, 1, 1_000_000].map(|key| affinity.worker(key));
        assert_eq!(kept, [Some(worker(2)), None, Some(worker(3))]);
    }

    #[test]
    fn an_heir_gets_all_keys_of_its_predecessor() {
        let mut affinity = Affinity::default();
        affinity.note(1, worker(0));
        affinity.note(2, worker(5));
        affinity.inherit(worker(0), worker(7));
        assert_eq!([1, 2].map(|key| affinity.worker(key)), [Some(worker(7)), Some(worker(5))]);
    }
}
