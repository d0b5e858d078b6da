//! Events: what happened in a pool, for logs, metrics and apps that want to know.

mod observers;
mod table;

pub use observers::{Observer, Observers, SubscriptionId};
pub use table::{
    CallRetry, EVENTS, Event, EventRow, ExitReason, LogSource, QueueDrain, QueueFull, RecycleReason, Reload,
    Warning, WorkerExit, WorkerLog, WorkerReady, WorkerRecycle, WorkerStart, WorkerUnresponsive,
};
