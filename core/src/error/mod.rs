//! Errors: one type for everything that can become of a call or a pool, one table for its codes. The classes of other languages and the
//! reference page are written from the table and from [`ErrorFields`].

mod constructors;
mod report;
mod signal;
mod table;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::options::Surface;
use crate::shape::{FieldKind, Shaped, choices, record};

pub use report::{DeathCause, ErrorReport, WorkerDeath};
pub use signal::Signal;
pub use table::{ERRORS, ErrorCode, ErrorRow, Fault};

/// Why a call has no result, or why a pool could not do what it was asked to.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{code}: {}", first_line(message))]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// The same for people; may have several lines if a function's own error has.
    pub message: String,
    /// Whether the function had begun to run.
    pub started: Started,
    /// Attempts that were started.
    pub attempts: u32,
    /// The function that was called.
    pub function: Option<Arc<str>>,
    /// The worker that died, if one did.
    pub worker: Option<Box<WorkerDeath>>,
    /// What the worker said, if it said anything.
    #[source]
    pub report: Option<Box<ErrorReport>>,
    /// The error object itself, in the encoding that the pool agreed on.
    pub payload: Option<Box<Bytes>>,
    /// Figures that explain it: queue length, time waited. Names are in snake_case.
    pub details: Details,
}

/// Figures that explain an error.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct Details(pub BTreeMap<&'static str, Value>);

choices! {
    /// Whether the function had begun to run when the call ended.
    pub enum Started {
        /// It has been handed to a worker that said nothing of it.
        Maybe = "maybe",
        /// It has not: no worker has got the call.
        No = "no",
        /// It has: the worker said so.
        Yes = "yes",
    }
}

record! {
    /// An error as apps see it.
    pub struct ErrorFields {
        /// What went wrong.
        pub code: ErrorCode,
        /// The same for people.
        pub message: String,
        /// Whose fault it is.
        pub fault: Fault,
        /// Whether the function surely did not run, so that calling again cannot do its work twice.
        pub safe_to_repeat: bool,
        /// Whether the function had begun to run.
        pub started: Started,
        /// Attempts that were started.
        pub attempts: u32,
        /// The function that was called.
        pub function: Option<String>,
        /// The process of the worker that died, if one did.
        pub pid: Option<u32>,
        /// Its exit code, if it exited.
        pub exit_code: Option<i32>,
        /// The signal that ended it, if one did: `SIGKILL`.
        pub signal: Option<Signal>,
        /// How that worker died.
        pub worker: Option<WorkerDeath>,
        /// What the worker said of the error, if it said anything. In Node.js it is the `cause`, a `RemoteError`.
        pub report: Option<ErrorReport>,
        /// Figures that explain it: queue length, time waited.
        pub details: Details,
    }
}

impl Error {
    /// Whether the function surely did not run, so that calling again cannot do its work twice.
    pub fn safe_to_repeat(&self) -> bool {
        self.code.row().safe_to_repeat || (self.started == Started::No && self.code != ErrorCode::Cancelled)
    }

    /// The error as apps see it.
    pub fn fields(&self) -> ErrorFields {
        let worker = self.worker.as_deref();
        ErrorFields {
            code: self.code,
            message: self.message.clone(),
            fault: self.code.row().fault,
            safe_to_repeat: self.safe_to_repeat(),
            started: self.started,
            attempts: self.attempts,
            function: self.function.as_deref().map(str::to_owned),
            pid: worker.and_then(|worker| worker.pid),
            exit_code: worker.and_then(|worker| worker.code),
            signal: worker.and_then(|worker| worker.signal),
            worker: worker.cloned(),
            report: self.report.as_deref().cloned(),
            details: self.details.clone(),
        }
    }

    /// The error as a plain map, for a binding to make its language's error of. The payload is not in it.
    pub fn to_value(&self, surface: Surface) -> Value {
        self.fields().to_value(surface)
    }
}

impl Shaped for Details {
    const KIND: FieldKind = FieldKind::Names;
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
