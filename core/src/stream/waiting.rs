//! A thread that waits for a stream: it reads the pool's lanes meanwhile if nobody else does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Wake;
use crate::reactor::{Reactor, Seat};

/// Blocks until `known`, at most until then. `arm` has its wake called when it may be, or gives it back if it is. Whether it is.
pub(super) fn wait(
    reactor: &Arc<Reactor>,
    until: Option<Instant>,
    arm: impl Fn(Wake) -> Option<Wake>,
    known: impl Fn() -> bool,
) -> bool {
    while !known() {
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return false;
        }
        let seat = Seat::new(Arc::clone(reactor));
        let waker = Arc::clone(&seat);
        if arm(Box::new(move || waker.wake())).is_none() {
            seat.wait(left, &known);
        }
    }
    true
}
