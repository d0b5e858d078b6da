//! Every error code: whose fault it is, whether the call may simply be repeated, and what Python calls it.

use crate::shape::{FieldKind, Shaped, choices};

choices! {
    /// Whose fault an error is.
    pub enum Fault {
        /// The caller asked for something that cannot be.
        Caller = "caller",
        /// The function failed or took too long.
        Function = "function",
        /// A node was lost or refused.
        Node = "node",
        /// The pool had no room, no time, or had ended.
        Pool = "pool",
        /// The worker died, would not start, or broke the protocol.
        Worker = "worker",
    }
}

/// What is known of a code.
#[derive(Debug)]
pub struct ErrorRow {
    /// The code.
    pub code: ErrorCode,
    /// Its name in every language.
    pub name: &'static str,
    /// Whose fault it is.
    pub fault: Fault,
    /// Whether the function surely did not run, so that calling again cannot do its work twice.
    pub safe_to_repeat: bool,
    /// The class in Python; none where the standard library has one.
    pub python_class: Option<&'static str>,
    /// A class of Python's own that it derives from as well.
    pub python_base: Option<&'static str>,
    /// What it means, in one sentence.
    pub doc: &'static str,
}

impl ErrorCode {
    /// What is known of the code.
    pub fn row(self) -> &'static ErrorRow {
        &ERRORS[self as usize]
    }

    /// Its name in every language: `QUEUE_FULL`.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// The code of that name.
    pub fn from_name(name: &str) -> Option<ErrorCode> {
        ERRORS.iter().find(|row| row.name == name).map(|row| row.code)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Shaped for ErrorCode {
    const KIND: FieldKind = FieldKind::Choice(NAMES);
}

/// Rows become the enum, the table and the list of names, so that none can lack one.
macro_rules! codes {
    ($( $variant:ident $name:literal $fault:ident $repeat:literal [$($class:ident $(: $base:ident)?)?] $doc:literal )+) => {
        /// What went wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode { $( #[doc = $doc] $variant ),+ }

        /// Every code, in the order of the enum.
        pub static ERRORS: &[ErrorRow] = &[$( ErrorRow {
            code: ErrorCode::$variant,
            name: $name,
            fault: Fault::$fault,
            safe_to_repeat: $repeat,
            python_class: codes!(@first $($class)?),
            python_base: codes!(@first $($($base)?)?),
            doc: $doc,
        } ),+];

        const NAMES: &[&str] = &[$($name),+];
    };
    (@first) => { None };
    (@first $name:ident) => { Some(stringify!($name)) };
}

codes! {
    // variant, code, fault, safe to repeat, [class in Python: base], text
    QueueFull "QUEUE_FULL" Pool true [QueueFull]
        "The queue has no room for another call; it has not run."
    QueueTimeout "QUEUE_TIMEOUT" Pool true [QueueTimeout: TimeoutError]
        "The call waited as long as `queue_timeout` allows for its first attempt; it has not run."
    Timeout "TIMEOUT" Function false [CallTimeout: TimeoutError]
        "An attempt ran longer than `timeout` allows; its worker was asked to stop it."
    DeadlineExceeded "DEADLINE_EXCEEDED" Pool false [DeadlineExceeded: TimeoutError]
        "The call was not done within its `deadline`; `started` tells whether it ran."
    Cancelled "CANCELLED" Caller false []
        "The caller gave up; `started` tells whether the call ran."
    WorkerCrashed "WORKER_CRASHED" Worker false [WorkerCrashed]
        "The worker died while it had the call; `worker` tells how."
    StartFailed "START_FAILED" Worker true [StartFailed]
        "No worker can be started; the report is the last one's own."
    CallFailed "CALL_FAILED" Function false [CallFailed]
        "The function failed with an error of its own; the report has its type, text and traceback."
    NoSuchFunction "NO_SUCH_FUNCTION" Caller true [NoSuchFunction]
        "The worker has no function of that name."
    InvalidInput "INVALID_INPUT" Caller true [InvalidInput]
        "The input does not fit the function, which has not run."
    InvalidResult "INVALID_RESULT" Function false [InvalidResult]
        "The function ran, but what it returned cannot be sent."
    PayloadTooLarge "PAYLOAD_TOO_LARGE" Caller false [PayloadTooLarge]
        "The input or the result is larger than `max_payload` allows; `started` tells which."
    PoolClosed "POOL_CLOSED" Pool false [PoolClosed]
        "The pool was closed before the call was done; `started` tells whether it ran."
    InvalidOption "INVALID_OPTION" Caller true [InvalidOption]
        "An option is unknown, of the wrong type or out of range; nothing was done."
    Protocol "PROTOCOL" Worker false [ProtocolViolation]
        "The worker sent what the protocol does not allow, and was killed."
    Forked "FORKED" Caller true [Forked]
        "The pool belongs to the process that this one was forked from; make a new one."
}
