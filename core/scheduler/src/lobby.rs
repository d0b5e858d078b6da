//! Calls for which the queue has no room and that wait outside for it.

use std::collections::BTreeSet;

use crate::id::CallId;

/// In the order of submission: ids rise.
#[derive(Debug, Default)]
pub(crate) struct Lobby {
    calls: BTreeSet<CallId>,
}

impl Lobby {
    pub(crate) fn enter(&mut self, call: CallId) {
        self.calls.insert(call);
    }

    /// False if it does not wait here.
    pub(crate) fn leave(&mut self, call: CallId) -> bool {
        self.calls.remove(&call)
    }

    pub(crate) fn contains(&self, call: CallId) -> bool {
        self.calls.contains(&call)
    }

    pub(crate) fn first(&self) -> Option<CallId> {
        self.calls.first().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
