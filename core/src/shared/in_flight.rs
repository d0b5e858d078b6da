//! What is kept of a call while a worker has it.

use ganger_scheduler::CallId;

use super::items::Items;

/// A call that a worker has, as long as it has not answered: also when the caller waits no longer.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) call: CallId,
    /// It lies at the worker, which has not taken it up.
    pub(super) lies: bool,
    /// Something was heard of it.
    pub(super) heard: bool,
    /// What it has yielded, if that is gathered.
    pub(super) items: Option<Items>,
}

impl InFlight {
    pub(super) fn new(call: CallId) -> Self {
        Self { call, lies: false, heard: false, items: None }
    }

    pub(super) fn lying(call: CallId) -> Self {
        Self { lies: true, ..Self::new(call) }
    }
}
