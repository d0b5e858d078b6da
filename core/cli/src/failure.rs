//! What can go wrong with a command: how it is told, and the exit code that a script sees.

use std::io::{self, Write};

use ganger::error::{Error, ErrorCode};
use ganger::flight::ReplayError;

use crate::input::InputError;
use crate::interrupt::Signal;
use crate::worker::WorkerError;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line says something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// It is not clear which worker is meant.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// There is no input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// What became of the call.
    #[error("{}", headline(.0))]
    Call(#[from] Box<Error>),
    /// What the worker answered is no value that could be shown.
    #[error("the result cannot be shown: {0}")]
    Unshowable(String),
    /// The worker to be checked is no program that runs.
    #[error("{0}")]
    NotStarted(String),
    /// What the check has already told.
    #[error("the worker breaks rules of the protocol")]
    RulesBroken,
    /// Files of a typed client that say something else than the worker.
    #[error("{0}: not what the worker offers now; write it anew without --check")]
    Outdated(String),
    /// A flight record that tells nothing.
    #[error(transparent)]
    Unplayable(#[from] ReplayError),
    /// Somebody has had enough.
    #[error("{0}: the call was cancelled")]
    Interrupted(Signal),
    /// Whoever read the output has gone.
    #[error("cannot write the result: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// As the help says.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Worker(_) | Failure::Input(_) => USAGE,
            Failure::Call(error) => code_of(error.code),
            Failure::Unshowable(_) | Failure::RulesBroken | Failure::Outdated(_) | Failure::Unplayable(_) => {
                FUNCTION
            }
            Failure::NotStarted(_) => WORKER,
            Failure::Interrupted(Signal::Interrupt) => 130,
            Failure::Interrupted(Signal::Terminate) => 143,
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => NOBODY_READS,
            Failure::Output(_) => FUNCTION,
        }
    }

    /// Writes it to stderr, with the worker's own report and what to do about it.
    pub(crate) fn tell(&self) {
        if matches!(self, Failure::RulesBroken) || self.exit_code() == NOBODY_READS {
            return;
        }
        let mut stderr = io::stderr().lock();
        // Nobody is left to tell when this fails.
        let _ = writeln!(stderr, "error: {self}");
        if let Failure::Call(error) = self {
            let _ = tell_details(&mut stderr, error);
        }
    }
}

fn tell_details(out: &mut impl Write, error: &Error) -> io::Result<()> {
    for line in error.message.lines().skip(1) {
        writeln!(out, "  {line}")?;
    }
    if let Some(traceback) = error.report.as_deref().and_then(|report| report.traceback.as_deref()) {
        for line in traceback.lines().filter(|line| !error.message.contains(*line)) {
            writeln!(out, "  {line}")?;
        }
    }
    match hint(error.code) {
        Some(hint) => writeln!(out, "hint: {hint}"),
        None => Ok(()),
    }
}

fn headline(error: &Error) -> String {
    let first = error.message.lines().next().unwrap_or_default();
    format!("{} {first}", error.code)
}

fn hint(code: ErrorCode) -> Option<&'static str> {
    HINTS.iter().find(|(known, _)| *known == code).map(|(_, hint)| *hint)
}

fn code_of(code: ErrorCode) -> u8 {
    EXIT_CODES.iter().find(|(_, codes)| codes.contains(&code)).map_or(WORKER, |(exit, _)| *exit)
}

const HINTS: &[(ErrorCode, &str)] = &[
    (ErrorCode::NoSuchFunction, "`ganger functions WORKER` lists what the worker has"),
    (ErrorCode::InvalidInput, "`ganger functions --json WORKER` shows what the function takes"),
    (ErrorCode::Timeout, "--timeout says how long the call may run"),
    (ErrorCode::PayloadTooLarge, "`--option max_payload=1gb` allows more"),
    (ErrorCode::Protocol, "`ganger check -- COMMAND` says which rule the worker breaks"),
];

/// What is not listed is the worker's.
const EXIT_CODES: &[(u8, &[ErrorCode])] = &[
    (FUNCTION, &[ErrorCode::CallFailed, ErrorCode::InvalidResult]),
    (
        USAGE,
        &[
            ErrorCode::NoSuchFunction,
            ErrorCode::InvalidInput,
            ErrorCode::InvalidOption,
            ErrorCode::PayloadTooLarge,
        ],
    ),
    (TOO_LONG, &[ErrorCode::Timeout, ErrorCode::DeadlineExceeded, ErrorCode::QueueTimeout]),
];

const FUNCTION: u8 = 1;
const USAGE: u8 = 2;
const WORKER: u8 = 3;
/// As `timeout(1)` has it.
const TOO_LONG: u8 = 124;
/// What a shell shows for SIGPIPE.
const NOBODY_READS: u8 = 141;
