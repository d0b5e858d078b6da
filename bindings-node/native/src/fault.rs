//! Errors on their way to JavaScript: their fields as JSON in the message of a plain error, which the TypeScript side unpacks.

use std::sync::Arc;

use ganger::Error;
use ganger::options::{OptionError, Surface};
use napi::Status;

/// What the seam throws when core refuses.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    napi::Error::new(Status::GenericFailure, json(error))
}

/// Wrong options, of a call if `function` says which.
pub(crate) fn wrong_options(error: OptionError, function: Option<Arc<str>>) -> napi::Error {
    thrown(&Error { function, ..error.into() })
}

/// The error as apps see it.
pub(crate) fn json(error: &Error) -> String {
    error.to_value(Surface::Node).to_string()
}
