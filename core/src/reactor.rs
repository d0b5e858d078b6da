//! Reads the data lanes of a pool: on the IO thread, or on a thread of the app's that waits for its call anyway.
//!
//! A thread that waits for an answer and reads it itself saves the way over another thread: two wake-ups fewer a call. The pattern is
//! "leader and followers": one thread at a time waits for the lanes and reads whatever comes, for everyone; the others sleep until they
//! are told, or until the lead is free. Where the system lacks what that takes, each lane has a task of its own.

mod cork;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod gatekeeping;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod leading;
mod loop_seat;
#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
mod resting;
mod seat;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod vigil;

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use tokio::io::Interest;

pub use cork::Cork;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
pub(crate) use leading::{Reactor, Registration};
pub use loop_seat::LoopSeat;
#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
pub(crate) use resting::{Reactor, Registration};
pub use seat::Seat;

use crate::link::Turn;
use crate::process::watch;

/// A descriptor that somebody has to read.
pub(crate) trait Source: Send + Sync {
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Reads for one turn and tells whom it concerns. One thread at a time.
    fn read(&self) -> Turn;
    /// There is nothing to be read any more.
    fn end(&self);
}

/// Reads one source in a task, to its end.
pub(crate) async fn attend(source: Arc<impl Source + ?Sized>) {
    if let Ok(watched) = watch(source.descriptor(), Interest::READABLE) {
        while let Ok(mut ready) = watched.readable().await {
            match source.read() {
                // Only what was ready when we began to read: what came since is another readiness.
                Turn::Blocked => ready.clear_ready(),
                Turn::ShareUsed => tokio::task::yield_now().await,
                Turn::Ended => break,
            }
        }
    }
    source.end();
}
