//! A value that cannot cross: where it lies and why.

use std::sync::Arc;

use ganger::Error;
use ganger::error::ErrorCode;

/// How deep lists and maps may nest; worker SDKs have the same limit.
pub(crate) const MAX_DEPTH: usize = 200;

/// Why a value was refused. The path is collected on the way out of the walk, so that the way in costs nothing.
#[derive(Debug)]
pub(crate) struct Refused {
    reason: String,
    steps: Vec<String>,
}

impl Refused {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), steps: Vec::new() }
    }

    pub(crate) fn too_deep() -> Self {
        Self::new(format!("nested deeper than {MAX_DEPTH} levels (or a cycle)"))
    }

    pub(crate) fn at_index(mut self, index: usize) -> Self {
        self.steps.push(format!("[{index}]"));
        self
    }

    pub(crate) fn at_name(mut self, name: &str) -> Self {
        self.steps.push(format!(".{name}"));
        self
    }

    /// As the error of a call.
    pub(crate) fn into_error(self, code: ErrorCode, function: Option<Arc<str>>) -> Error {
        let path: String = std::iter::once("$").chain(self.steps.iter().rev().map(String::as_str)).collect();
        let error = Error::new(code, format!("{path}: {}", self.reason)).with_detail("path", path);
        Error { function, ..error }
    }
}
