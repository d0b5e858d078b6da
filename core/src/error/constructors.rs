//! How errors are made: one constructor for each thing that happens, and steps that add what is known.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::{Details, Error, ErrorCode, ErrorReport, Started, WorkerDeath};
use crate::options::{OptionError, duration, size};

/// What happened.
impl Error {
    /// An error of that code, about no call.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error {
            code,
            message: message.into(),
            started: Started::No,
            attempts: 0,
            function: None,
            worker: None,
            report: None,
            payload: None,
            details: Details(BTreeMap::new()),
        }
    }

    /// No room to wait.
    pub fn queue_full(queued: u64, queued_bytes: u64, running: u64) -> Error {
        let message = format!(
            "the queue is full: {} waiting ({}), {running} running",
            calls(queued),
            size::text(queued_bytes)
        );
        Error::new(ErrorCode::QueueFull, message)
            .with_detail("queued", queued)
            .with_detail("queued_bytes", queued_bytes)
            .with_detail("running", running)
    }

    /// Waited too long for the first attempt.
    pub fn queue_timeout(waited: Duration, queued: u64, running: u64) -> Error {
        let message = format!(
            "no worker had room for {}: {} waiting, {running} running",
            rounded(waited),
            calls(queued)
        );
        Error::new(ErrorCode::QueueTimeout, message)
            .with_detail("waited_ms", milliseconds(waited))
            .with_detail("queued", queued)
            .with_detail("running", running)
    }

    /// An attempt took too long.
    pub fn timeout(ran: Duration) -> Error {
        Error::new(ErrorCode::Timeout, format!("the call took longer than its timeout: {}", rounded(ran)))
            .with_detail("ran_ms", milliseconds(ran))
    }

    /// The whole took too long.
    pub fn deadline_exceeded(age: Duration) -> Error {
        Error::new(
            ErrorCode::DeadlineExceeded,
            format!("the call was not done by its deadline: {}", rounded(age)),
        )
        .with_detail("age_ms", milliseconds(age))
    }

    /// The caller gave up.
    pub fn cancelled() -> Error {
        Error::new(ErrorCode::Cancelled, "the call was cancelled")
    }

    /// The worker died while it had the call.
    pub fn worker_crashed(death: WorkerDeath) -> Error {
        Error::new(ErrorCode::WorkerCrashed, death.sentence()).with_worker(death)
    }

    /// No worker can be started.
    pub fn start_failed(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::StartFailed, message)
    }

    /// A worker said that it cannot start.
    pub fn start_failed_with(report: ErrorReport) -> Error {
        Error::start_failed(format!("the worker could not start: {}", report.headline())).with_report(report)
    }

    /// The function failed with an error of its own.
    pub fn call_failed(report: ErrorReport) -> Error {
        Error::new(ErrorCode::CallFailed, report.headline()).with_report(report)
    }

    /// A worker answered with this code: what its SDK refuses by itself has a text that needs no type before it.
    pub fn reported(code: ErrorCode, report: ErrorReport) -> Error {
        if code == ErrorCode::CallFailed {
            return Error::call_failed(report);
        }
        let error = Error::new(code, report.message.clone());
        match report.path.clone() {
            Some(path) => error.with_detail("path", path),
            None => error,
        }
        .with_report(report)
    }

    /// More than `max_payload`. `what` is `input` or `result`.
    pub fn payload_too_large(what: &str, bytes: u64, max_payload: u64) -> Error {
        let message = format!("the {what} has {bytes} bytes, more than the {max_payload} of max_payload");
        Error::new(ErrorCode::PayloadTooLarge, message)
            .with_detail("bytes", bytes)
            .with_detail("max_payload", max_payload)
    }

    /// Items were to be sent to a function that reads none.
    pub fn reads_no_inputs(function: &str) -> Error {
        Error::new(ErrorCode::InvalidInput, format!("{function} reads no input stream"))
    }

    /// The call takes more of a worker than one has.
    pub fn too_many_slots(slots: u32, concurrency: u32) -> Error {
        let message =
            format!("option \"slots\" is {slots}, but a worker has {concurrency} (\"concurrency\")");
        Error::new(ErrorCode::InvalidOption, message).with_detail("option", "slots")
    }

    /// The pool takes no calls, or ended before this one was done.
    pub fn pool_closed() -> Error {
        Error::new(ErrorCode::PoolClosed, "the pool is closed")
    }

    /// The worker broke the protocol.
    pub fn protocol(violation: &str) -> Error {
        Error::new(ErrorCode::Protocol, format!("the worker broke the protocol: {violation}"))
    }

    /// The pool belongs to a parent process.
    pub fn forked() -> Error {
        Error::new(
            ErrorCode::Forked,
            "the pool belongs to the process that this one was forked from; make a new pool",
        )
    }
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Error {
        Error::new(ErrorCode::InvalidOption, error.to_string()).with_detail("option", error.name())
    }
}

/// What is known of it.
impl Error {
    /// Says which call it is about.
    #[must_use]
    pub fn about(mut self, function: Arc<str>, started: Started, attempts: u32) -> Error {
        (self.function, self.started, self.attempts) = (Some(function), started, attempts);
        self
    }

    /// Adds how the worker died.
    #[must_use]
    pub fn with_worker(mut self, death: WorkerDeath) -> Error {
        self.worker = Some(Box::new(death));
        self
    }

    /// Adds what the worker said.
    #[must_use]
    pub fn with_report(mut self, report: ErrorReport) -> Error {
        self.report = Some(Box::new(report));
        self
    }

    /// Adds the error object itself.
    #[must_use]
    pub fn with_payload(mut self, payload: Bytes) -> Error {
        self.payload = Some(Box::new(payload));
        self
    }

    /// Adds a figure. The name is in snake_case, with its unit.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: impl Into<Value>) -> Error {
        self.details.0.insert(name, value.into());
        self
    }
}

impl Error {
    /// The whole story as text: the message, and the worker's own traceback or else the end of its stderr.
    pub fn account(&self) -> String {
        let traceback = self.report.as_ref().and_then(|report| report.traceback.as_deref());
        let last_words = || self.worker.as_ref().map(|death| death.stderr_tail.as_str());
        match traceback.or_else(last_words).map(str::trim_end) {
            Some(more) if !more.is_empty() => format!("{}\n\n{more}", self.message),
            Some(_) | None => self.message.clone(),
        }
    }
}

fn calls(count: u64) -> String {
    format!("{count} {}", if count == 1 { "call" } else { "calls" })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Nobody wants the microseconds of a timeout.
fn rounded(time: Duration) -> String {
    duration::text(Duration::from_millis(milliseconds(time)))
}
