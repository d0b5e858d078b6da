//! What a worker says of an error in its own language, and what the host knows of a worker's death.

use serde_json::Value;

use super::signal::Signal;
use crate::shape::{choices, record};

choices! {
    /// Why exactly a worker is gone.
    pub enum DeathCause {
        /// It was killed because a call would not stop.
        CancelKill = "cancel-kill",
        /// It was stopped or killed because the pool ends.
        Close = "close",
        /// It was attached, and left.
        Detached = "detached",
        /// It ended by itself.
        Exit = "exit",
        /// It was stopped because it had nothing to do.
        Idle = "idle",
        /// It went over its hard memory limit.
        MemoryLimit = "memory-limit",
        /// Its process could not be started.
        NotStarted = "not-started",
        /// The system killed it because memory had run out.
        OomKiller = "oom-killer",
        /// It was killed for breaking the protocol.
        Protocol = "protocol",
        /// It was stopped because it was replaced.
        Recycled = "recycled",
        /// A signal from elsewhere ended it.
        Signal = "signal",
        /// It was killed because it was not ready in time.
        StartTimeout = "start-timeout",
        /// It was killed because it did not answer the health check.
        Unresponsive = "unresponsive",
    }
}

record! {
    /// How a worker died.
    pub struct WorkerDeath {
        /// The process; null if there never was one.
        pub pid: Option<u32>,
        /// Which place in the pool it had.
        pub index: u32,
        /// How many workers had that place before.
        pub generation: u32,
        /// Its exit code, if it exited.
        pub code: Option<i32>,
        /// The signal that ended it, if one did: `SIGKILL`.
        pub signal: Option<Signal>,
        /// Why exactly.
        pub cause: DeathCause,
        /// The function whose call had to be killed, if that was the cause.
        pub culprit: Option<String>,
        /// The last lines that it wrote to stderr.
        pub stderr_tail: String,
        /// How long it lived, in milliseconds.
        pub uptime_ms: u64,
        /// Functions of the last calls that it had answered, the latest last.
        pub last_calls: Vec<String>,
        /// What it used in its last minute, in bytes, the latest last; empty where memory is not watched.
        pub memory: Vec<u64>,
    }

    /// An error as the worker reported it.
    #[derive(Default)]
    pub struct ErrorReport {
        /// Its type in the worker's language: `ValueError`.
        pub r#type: String,
        /// Its text.
        pub message: String,
        /// Its traceback, in the form that the language has for it.
        pub traceback: Option<String>,
        /// The worker's language: `python`.
        pub language: String,
        /// Properties of the error that could be sent: a map, or null.
        pub properties: Value,
        /// Properties that could not.
        pub dropped: Vec<String>,
        /// Where in the input or result, if it is about one: `$.amount`.
        pub path: Option<String>,
        /// The error that led to it.
        pub cause: Option<Box<ErrorReport>>,
    }
}

impl WorkerDeath {
    /// `worker 2 (pid 4711) ended by SIGKILL`.
    pub fn sentence(&self) -> String {
        let pid = self.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
        format!("worker {}{pid} {}", self.index, self.what_happened())
    }

    fn what_happened(&self) -> String {
        match self.cause {
            DeathCause::CancelKill => match &self.culprit {
                Some(culprit) => format!("was killed because a call of {culprit} did not stop"),
                None => "was killed because a call did not stop".to_owned(),
            },
            DeathCause::Close => "ended with the pool".to_owned(),
            DeathCause::Detached => "left".to_owned(),
            DeathCause::Exit | DeathCause::Signal => match (self.signal, self.code) {
                (Some(signal), _) => format!("was ended by {signal}"),
                (None, Some(code)) => format!("exited with code {code}"),
                (None, None) => "ended".to_owned(),
            },
            DeathCause::Idle => "was stopped because it had nothing to do".to_owned(),
            DeathCause::MemoryLimit => format!("went over its memory_limit{}", self.manner()),
            DeathCause::OomKiller => {
                format!("was killed by the system because memory had run out{}", self.manner())
            }
            DeathCause::Recycled => "was replaced".to_owned(),
            DeathCause::Unresponsive => "did not answer the health check and was killed".to_owned(),
            DeathCause::NotStarted => "could not be started".to_owned(),
            DeathCause::Protocol => "broke the protocol and was killed".to_owned(),
            DeathCause::StartTimeout => "was not ready within the start timeout and was killed".to_owned(),
        }
    }
}

impl WorkerDeath {
    fn manner(&self) -> String {
        match (self.signal, self.code) {
            (Some(signal), _) => format!(" ({signal})"),
            (None, Some(code)) => format!(" (exit code {code})"),
            (None, None) => String::new(),
        }
    }
}

impl ErrorReport {
    /// `ValueError: not a number`, as most languages write it.
    pub fn headline(&self) -> String {
        match (self.r#type.is_empty(), self.message.is_empty()) {
            (false, false) => format!("{}: {}", self.r#type, self.message),
            (false, true) => self.r#type.clone(),
            (true, _) => self.message.clone(),
        }
    }
}

impl std::fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(super::first_line(&self.headline()))
    }
}

impl std::error::Error for ErrorReport {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
