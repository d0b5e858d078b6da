//! Whether a call that lost its worker runs again.

use crate::call::Call;

/// What becomes of a call whose worker died with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterLoss {
    /// Another attempt, at the head of its priority.
    RunAgain,
    /// The caller is told.
    Fail,
}

/// Only a call that was declared harmless to repeat runs again, only so often, never while the pool shuts down, and never
/// when it was for that worker alone. A call that timed out, was cancelled or failed by itself has been settled before its worker died and never comes here.
pub(crate) fn after_loss(call: &Call, pool_accepts_calls: bool) -> AfterLoss {
    let left = call.retries_used < call.spec.retries;
    let elsewhere = call.spec.pinned.is_none();
    if call.spec.idempotent && left && elsewhere && pool_accepts_calls {
        AfterLoss::RunAgain
    } else {
        AfterLoss::Fail
    }
}
