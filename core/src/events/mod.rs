//! Events: what happened in a pool, for logs, metrics and apps that want to know.

mod observers;
mod table;

pub use observers::{Observer, Observers, SubscriptionId};
pub use table::{
    CallRetry, EVENTS, Event, EventRow, ExitReason, LogSource, QueueDrain, QueueFull, WorkerExit, WorkerLog,
    WorkerReady, WorkerStart,
};
