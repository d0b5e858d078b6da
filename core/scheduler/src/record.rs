//! A flight record: what a pool's scheduler was told and when, as text that can be read back and played again by
//! [`Scheduler::replay`](crate::Scheduler::replay).
//!
//! ```text
//! ganger-flight-record 1
//! config workers=2 concurrency=1 …
//! lost 0
//! 1203400 submit 1 bytes=12 retries=1 grace=2s
//! 1209000 ready 0.0
//! 5001209000 clock
//! counted submitted=1 answered=0 …
//! ```
//!
//! Each line in between is a moment in nanoseconds since the pool began, a word, what it is about, and `name=value` or a bare name for what
//! is not as usual. Spans have the largest unit that is exact: `2s`, `250ms`, `3us`, `7ns`. A field that comes to be later has a value that
//! old records mean, so that they stay readable; a change of meaning is another version.
//!
//! A record that has lost its beginning is still good to read, but cannot be played: what the pool had been doing is not in it.

mod reading;
mod span;
mod writing;

use std::fmt;

use crate::config::Config;
use crate::input::Input;
use crate::stats::Counters;
use crate::time::Timestamp;

/// The first line of every record that this version writes and reads.
const HEADER: &str = "ganger-flight-record 1";

/// What a scheduler was told, in order.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What the pool was made with.
    pub config: Config,
    /// Entries before the first that were not kept.
    pub lost: u64,
    /// The rest, in order.
    pub entries: Vec<Entry>,
    /// What the scheduler had counted after the last of them.
    pub counters: Counters,
}

/// One thing that a scheduler was told.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// What.
    pub heard: Heard,
}

/// What moves a scheduler.
#[derive(Clone, Debug)]
pub enum Heard {
    /// Something happened: [`Scheduler::handle`](crate::Scheduler::handle).
    Input(Input),
    /// Time went by: [`Scheduler::handle_timeout`](crate::Scheduler::handle_timeout).
    Clock,
}

/// A text is no record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for RecordError {}

/// The beginning of a record was not kept, so that it cannot be played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BeginningLost {
    /// Entries that are missing.
    pub lost: u64,
}

impl fmt::Display for BeginningLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the record lacks its first {} entries: what the pool was doing by then is not known",
            self.lost
        )
    }
}

impl std::error::Error for BeginningLost {}

/// Every counter and its name.
fn counters_by_name(counters: &mut Counters) -> [(&'static str, &mut u64); 17] {
    let Counters {
        submitted,
        answered,
        failed,
        cancelled,
        retried,
        batches,
        batched,
        started,
        crashed,
        start_failed,
        recycled_calls,
        recycled_memory,
        recycled_age,
        recycled_reload,
        unresponsive,
        handed_ahead,
        taken_back,
    } = counters;
    [
        ("submitted", submitted),
        ("answered", answered),
        ("failed", failed),
        ("cancelled", cancelled),
        ("retried", retried),
        ("batches", batches),
        ("batched", batched),
        ("started", started),
        ("crashed", crashed),
        ("start_failed", start_failed),
        ("recycled_calls", recycled_calls),
        ("recycled_memory", recycled_memory),
        ("recycled_age", recycled_age),
        ("recycled_reload", recycled_reload),
        ("unresponsive", unresponsive),
        ("handed_ahead", handed_ahead),
        ("taken_back", taken_back),
    ]
}
