//! What the scheduler hears: commands of the app and reports about workers.

use std::time::Duration;

use crate::call::{CallSpec, Declaration};
use crate::id::{CallId, WorkerId};

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// The app wants a call to run. Ids must rise.
    Submit {
        /// The call's new id.
        call: CallId,
        /// What is asked.
        spec: CallSpec,
    },
    /// What a call's function says of itself has become known. A settled call is left as it is.
    Declare {
        /// Which call.
        call: CallId,
        /// What holds for it now.
        declaration: Declaration,
    },
    /// The app no longer wants a call. Unknown and settled calls are ignored.
    Cancel {
        /// Which call.
        call: CallId,
    },
    /// No new calls; what waits and runs is finished within `timeout`, then workers stop.
    Close {
        /// How long what waits and runs may take; none: as long as it takes.
        timeout: Option<Duration>,
    },
    /// Everything ends now.
    Terminate,
    /// The app wants so many workers ready ahead of calls. More than the pool's size counts as its size.
    Warm {
        /// How many.
        workers: u32,
    },
    /// The workers' code has changed.
    Reload,
    /// How much memory a worker uses.
    Sample {
        /// Which worker.
        worker: WorkerId,
        /// Private bytes of its process tree.
        memory: u64,
    },
    /// How much memory is left for more workers.
    Headroom {
        /// Bytes; none: not known.
        memory: Option<u64>,
    },
    /// A worker answered a ping.
    Pong {
        /// Which worker.
        worker: WorkerId,
    },
    /// A process that the pool did not start wants to be a worker of it.
    Attach {
        /// The shell's own number for it, returned in [`Action::Admit`](crate::Action::Admit).
        attachment: u64,
    },
    /// A worker that is about to be ready claims calls before it begins them, so that some may lie at it ahead of their turn.
    Claims {
        /// Which worker.
        worker: WorkerId,
    },
    /// How many of the calls that [`Action::TakeBack`](crate::Action::TakeBack) asked for the worker had not claimed. It comes before
    /// anything else that the worker says.
    TakenBack {
        /// Which worker.
        worker: WorkerId,
        /// How many were asked for.
        asked: usize,
        /// How many came back: so many of the last that were laid there.
        taken: usize,
    },
    /// A worker can take calls.
    Ready {
        /// Which worker.
        worker: WorkerId,
    },
    /// The worker sent something about a call that did not end it.
    Heard {
        /// Which worker.
        worker: WorkerId,
        /// Which call.
        call: CallId,
    },
    /// The worker answered a call, with a result or with an error of its own.
    Answered {
        /// Which worker.
        worker: WorkerId,
        /// Which call.
        call: CallId,
    },
    /// The worker broke the protocol.
    Violated {
        /// Which worker.
        worker: WorkerId,
    },
    /// The worker's process is gone, or could not be started at all.
    Exited {
        /// Which worker.
        worker: WorkerId,
        /// How it ended.
        exit: Exit,
        /// Calls assigned to it of which not one byte was written, and calls laid at it that it did not claim.
        unwritten: Vec<CallId>,
    },
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It ended, and somebody else reaped it.
    Unknown,
    /// It could not be started.
    NotStarted,
    /// An attached worker closed its lanes; its process is not ours to watch.
    Detached,
}
