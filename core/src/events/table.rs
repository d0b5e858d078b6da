//! Every event and its fields. A new event is a record and a row.

use serde_json::Value;

use crate::error::{DeathCause, Signal};
use crate::options::Surface;
use crate::shape::{RecordShape, Shaped, choices, record};

choices! {
    /// Why a worker is gone, in a word.
    pub enum ExitReason {
        /// It died, or was killed for what it did.
        Crash = "crash",
        /// It was replaced on purpose.
        Recycled = "recycled",
        /// It never became ready.
        StartFailed = "start-failed",
        /// It was no longer wanted.
        Shutdown = "shutdown",
        /// It did not answer the health check.
        Unresponsive = "unresponsive",
    }

    /// Why a worker is replaced on purpose.
    pub enum RecycleReason {
        /// It has lived long enough.
        Age = "age",
        /// It has answered enough calls.
        Calls = "calls",
        /// It uses too much memory.
        Memory = "memory",
        /// Its code has changed.
        Reload = "reload",
    }

    /// Where a line of a worker came from.
    pub enum LogSource {
        /// The log of the worker's SDK.
        Log = "log",
        /// Its standard error.
        Stderr = "stderr",
        /// Its standard output.
        Stdout = "stdout",
    }
}

record! {
    /// A worker's process was started.
    pub struct WorkerStart {
        /// The pool's name.
        pub pool: String,
        /// The worker's place in the pool.
        pub worker: u32,
        /// Its process.
        pub pid: u32,
    }

    /// A worker is ready to take calls.
    pub struct WorkerReady {
        /// The pool's name.
        pub pool: String,
        /// The worker's place in the pool.
        pub worker: u32,
        /// Its process.
        pub pid: u32,
        /// From its start to ready, in milliseconds.
        pub started_in: f64,
    }

    /// A worker ended.
    pub struct WorkerExit {
        /// The pool's name.
        pub pool: String,
        /// The worker's place in the pool.
        pub worker: u32,
        /// Its process; null if there never was one.
        pub pid: Option<u32>,
        /// Its exit code, if it exited.
        pub code: Option<i32>,
        /// The signal that ended it, if one did: `SIGKILL`.
        pub signal: Option<Signal>,
        /// Calls it had.
        pub running: u64,
        /// Calls it had answered.
        pub calls: u64,
        /// Why, in a word.
        pub reason: ExitReason,
        /// Why exactly.
        pub cause: DeathCause,
        /// Why it could not start, with its own traceback or the end of its stderr; null unless the reason is `start-failed`.
        pub error: Option<String>,
    }

    /// A worker printed or logged something.
    pub struct WorkerLog {
        /// The pool's name.
        pub pool: String,
        /// The worker's place in the pool.
        pub worker: u32,
        /// Its process.
        pub pid: u32,
        /// Where it came from.
        pub source: LogSource,
        /// `debug`, `info`, `warning`, `error` or `critical`; null for what was printed.
        pub level: Option<String>,
        /// The logger's name; null for what was printed.
        pub logger: Option<String>,
        /// The line, without its end.
        pub message: String,
        /// What the log call carried beside its text.
        pub fields: Value,
        /// The function that was running, where known.
        pub r#fn: Option<String>,
    }

    /// A worker is going to be replaced.
    pub struct WorkerRecycle {
        /// The pool's name.
        pub pool: String,
        /// The worker's place in the pool.
        pub worker: u32,
        /// Its process.
        pub pid: u32,
        /// Why.
        pub reason: RecycleReason,
        /// What it was last seen to use, in bytes; null where that is not known.
        pub memory: Option<u64>,
        /// Calls it has answered.
        pub calls: u64,
        /// Whether it leaves before its replacement starts, because there is no memory for both.
        pub cold: bool,
    }

    /// A worker without calls did not answer the health check and is killed.
    pub struct WorkerUnresponsive {
        /// The pool's name.
        pub pool: String,
        /// The worker's place in the pool.
        pub worker: u32,
        /// Its process.
        pub pid: u32,
        /// How long it had to answer, in milliseconds.
        pub timeout: u64,
    }

    /// The code has changed and workers are going to be replaced.
    pub struct Reload {
        /// The pool's name.
        pub pool: String,
        /// What has changed: a hundred names at most.
        pub files: Vec<String>,
        /// How many workers are going to be replaced.
        pub replaced: u64,
    }

    /// Something about the pool that its owner should know and may want to change.
    pub struct Warning {
        /// The pool's name.
        pub pool: String,
        /// What, in a sentence.
        pub message: String,
    }

    /// A call that was declared idempotent is going to run again, because its worker died.
    pub struct CallRetry {
        /// The pool's name.
        pub pool: String,
        /// The place in the pool of the worker that died.
        pub worker: u32,
        /// The process of the worker that died; null if there never was one.
        pub pid: Option<u32>,
        /// The function.
        pub r#fn: String,
        /// The attempt that was lost; the first is 1.
        pub attempt: u32,
        /// How often the call may run again in all: its `retries`.
        pub retries: u32,
    }

    /// A call was refused because the queue is full. Told once, until the queue has drained.
    pub struct QueueFull {
        /// The pool's name.
        pub pool: String,
        /// Calls waiting.
        pub queued: u64,
        /// Bytes of input waiting.
        pub queued_bytes: u64,
    }

    /// The queue is empty again after it had been full.
    pub struct QueueDrain {
        /// The pool's name.
        pub pool: String,
    }
}

/// An event of a table.
#[derive(Debug)]
pub struct EventRow {
    /// Its name in every language: `worker:ready`.
    pub name: &'static str,
    /// Its data.
    pub record: &'static RecordShape,
}

macro_rules! events {
    ($($name:literal $record:ident)+) => {
        /// Something that happened in a pool.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Event { $( #[doc = concat!("`", $name, "`")] $record($record) ),+ }

        /// Every event.
        pub static EVENTS: &[EventRow] = &[$( EventRow { name: $name, record: &$record::SHAPE } ),+];

        impl Event {
            /// Its name in every language: `worker:ready`.
            pub fn name(&self) -> &'static str {
                match self { $( Event::$record(_) => $name ),+ }
            }

            /// Its data as a plain map.
            pub fn to_value(&self, surface: Surface) -> Value {
                match self { $( Event::$record(data) => data.to_value(surface) ),+ }
            }
        }

        $( impl From<$record> for Event {
            fn from(data: $record) -> Event { Event::$record(data) }
        } )+
    };
}

events! {
    "worker:start" WorkerStart
    "worker:ready" WorkerReady
    "worker:exit" WorkerExit
    "worker:recycle" WorkerRecycle
    "worker:unresponsive" WorkerUnresponsive
    "worker:log" WorkerLog
    "call:retry" CallRetry
    "reload" Reload
    "queue:full" QueueFull
    "queue:drain" QueueDrain
    "warning" Warning
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_exit_has_the_fields_that_apps_know() {
        let exit: Event = WorkerExit {
            pool: "prices".into(),
            worker: 1,
            pid: Some(4711),
            code: None,
            signal: Some(Signal(9)),
            running: 2,
            calls: 30,
            reason: ExitReason::Crash,
            cause: DeathCause::CancelKill,
            error: None,
        }
        .into();
        assert_eq!(exit.name(), "worker:exit");
        assert_eq!(
            exit.to_value(Surface::Node),
            json!({
                "pool": "prices", "worker": 1, "pid": 4711, "code": null, "signal": "SIGKILL", "running": 2,
                "calls": 30, "reason": "crash", "cause": "cancel-kill", "error": null,
            })
        );
    }

    #[test]
    fn names_are_spelled_as_the_language_does() {
        let ready = WorkerReady { pool: "p".into(), worker: 0, pid: 1, started_in: 1.5 };
        assert_eq!(ready.to_value(Surface::Node)["startedIn"], json!(1.5));
        assert_eq!(ready.to_value(Surface::Python)["started_in"], json!(1.5));
        let retry =
            CallRetry { pool: "p".into(), worker: 0, pid: None, r#fn: "f".into(), attempt: 1, retries: 1 };
        assert_eq!(retry.to_value(Surface::Node)["fn"], json!("f"));
    }

    #[test]
    fn every_event_says_which_pool() {
        for row in EVENTS {
            assert_eq!(row.record.fields[0].name(), "pool", "{}", row.name);
        }
    }
}
