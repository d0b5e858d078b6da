//! What is remembered of a worker, for the report of its death: a few of its last calls, a minute of its memory.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sampler::Memory;

/// So many calls are remembered.
const CALLS: usize = 8;
/// So many samples: a minute of them at one a second.
const SAMPLES: usize = 60;

#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    calls: VecDeque<Arc<str>>,
    memory: VecDeque<u64>,
    latest: Option<Memory>,
}

impl Past {
    pub(super) fn answered(&mut self, function: Arc<str>) {
        push(&mut self.calls, function, CALLS);
    }

    pub(super) fn sampled(&mut self, bytes: u64, memory: Memory) {
        push(&mut self.memory, bytes, SAMPLES);
        self.latest = Some(memory);
    }

    /// Functions, the latest last.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.iter().map(|function| function.to_string()).collect()
    }

    /// The last sample in full.
    pub(crate) fn latest(&self) -> Option<Memory> {
        self.latest
    }

    /// Bytes, the latest last.
    pub(crate) fn memory(&self) -> Vec<u64> {
        self.memory.iter().copied().collect()
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}
