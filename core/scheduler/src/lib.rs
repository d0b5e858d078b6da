//! All decisions of a pool, and nothing else.
//!
//! The crate is a state machine with four verbs. A shell feeds it what happened and carries out what it asks for:
//!
//! - [`Scheduler::handle`] takes one [`Input`]: a command of the app or a report about a worker;
//! - [`Scheduler::handle_timeout`] says what time it is, so that due clocks fire;
//! - [`Scheduler::poll_action`] hands out the next [`Action`] to carry out, in order;
//! - [`Scheduler::poll_timeout`] says when to come back at the latest.
//!
//! # What is absent, on purpose
//!
//! No clock, no IO, no threads, no global random numbers, no hash-map order and no payload bytes: it sees ids, sizes and
//! options only. The same inputs at the same times give the same actions, so any history can be replayed.
//!
//! # Shape
//!
//! One idea a file. The parts (`queue`, `placement`, `backoff`, …) do not know each other;
//! only `scheduler.rs` and the files below it compose them.

#![forbid(unsafe_code)]

mod action;
mod affinity;
mod backoff;
mod call;
mod config;
mod event;
mod failure;
mod id;
mod input;
mod line;
mod lobby;
mod phase;
mod placement;
mod queue;
mod record;
mod recycle;
mod retry;
mod roster;
mod scaling;
mod scheduler;
mod stats;
mod time;
mod timers;
mod words;
mod worker;

pub use action::{Action, CancelReason, HandedTogether, KillCause, Settlement};
pub use call::{Batch, CallSpec, CallView, Declaration, Started};
pub use config::{Config, WhenFull};
pub use event::{Event, ExitReason};
pub use failure::{DeathCause, Failure};
pub use id::{CallId, WorkerId};
pub use input::{Exit, Input};
pub use phase::PoolPhase;
pub use placement::Placement;
pub use record::{BeginningLost, Entry, Heard, RecordError, Recording};
pub use recycle::RecycleReason;
pub use scheduler::Scheduler;
pub use stats::{Counters, Stats, WorkerView};
pub use time::Timestamp;
