//! What can go wrong with a module, and how a caller hears of it.

use std::path::{Path, PathBuf};

use ganger_protocol::Value;
use ganger_protocol::message::{ErrorReport, code};

use crate::ration::Ration;

/// Why a module cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub(crate) struct PluginError {
    path: PathBuf,
    problem: String,
}

impl PluginError {
    pub(crate) fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }
}

/// Why an instance did not get to the end of what it was asked to run. It is not used again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// It did what a module must not do.
    #[error("{message}")]
    Trap { kind: &'static str, message: String, traceback: Option<String> },
    /// It broke the rules of the ABI.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// It had no room for the input.
    #[error("the module has no room for an input of {length} bytes")]
    NoRoom { length: usize },
}

/// A broken rule of the ABI: what the module did.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(pub(crate) String);

/// A module that did not return by itself.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// Its call was cancelled, or took too long.
    #[error("the call was cancelled")]
    Cancelled,
    /// It should have been ready.
    #[error("the module did not become ready within {} s", crate::ration::START_TIME.as_secs())]
    Start,
}

/// The report of a call that the instance did not survive.
pub(crate) fn report(ended: &Ended, ration: &Ration) -> ErrorReport {
    let refused = ration.refused.then(|| {
        (format!("; it had been refused more than {} bytes of memory", ration.limit), ration.limit as u64)
    });
    let (mut error_type, mut properties) = (type_of(ended), Vec::new());
    if let Ended::Trap { kind, .. } = ended {
        properties.push(("trap".to_owned(), Value::from(*kind)));
    }
    let mut message = ended.to_string();
    if let (Some((said, limit)), Ended::Trap { .. } | Ended::NoRoom { .. }) = (refused, ended) {
        message += &said;
        error_type = "MemoryLimit";
        properties.push(("memoryLimit".to_owned(), Value::from(limit)));
    }
    let code = if matches!(ended, Ended::Stopped(_)) { code::CANCELLED } else { code::CALL_FAILED };
    let mut report = ErrorReport::new(code, error_type, message);
    report.properties = Some(Value::Map(properties)).filter(|map| *map != Value::Map(Vec::new()));
    if let Ended::Trap { traceback, .. } = ended {
        report.traceback.clone_from(traceback);
    }
    report
}

const fn type_of(ended: &Ended) -> &'static str {
    match ended {
        Ended::Trap { .. } => "Trap",
        Ended::Fault(_) => "AbiError",
        Ended::Stopped(_) => "Cancelled",
        Ended::NoRoom { .. } => "OutOfMemory",
    }
}
