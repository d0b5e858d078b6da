//! How a function's failure becomes a report: any error with its chain of causes, a panic, or a [`Failure`]
//! with properties.

use std::cell::RefCell;
use std::error::Error;
use std::panic;

use ganger_protocol::Value;
use ganger_protocol::message::{ErrorReport, MAX_CAUSES, code};

use crate::session::Outcome;
use crate::streams::StreamError;

/// An error of any type, as functions and hooks may return it.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// What [`Context::check`](crate::Context::check) gives when the call was asked to stop. A function that
/// returns it, or an error caused by it, ends its call as cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call was cancelled")]
pub struct Cancelled;

/// An error with a type name and properties of its own choosing; any other error works as well.
#[derive(Debug)]
pub struct Failure {
    error_type: String,
    message: String,
    properties: Vec<(String, Value)>,
    source: Option<BoxError>,
}

impl Failure {
    /// An error with this text.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { error_type: "Failure".to_owned(), message, properties: Vec::new(), source: None }
    }

    /// The type that callers see.
    #[must_use]
    pub fn error_type(mut self, name: impl Into<String>) -> Self {
        self.error_type = name.into();
        self
    }

    /// A property that callers see.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.properties.push((name.into(), value.into()));
        self
    }

    /// What caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// How a call ends whose function returned an error.
pub(crate) fn outcome_of(error: &BoxError, type_name: &'static str) -> Outcome {
    if is_cancel(&**error, 0) {
        return Outcome::Cancelled;
    }
    if let Some(StreamError::Misfit(report)) = error.downcast_ref() {
        return Outcome::Failed(report.clone());
    }
    Outcome::Failed(Box::new(report_of(error, type_name)))
}

/// The report of an error and its causes.
pub(crate) fn report_of(error: &BoxError, type_name: &str) -> ErrorReport {
    let mut report = report_link(&**error, 0);
    report.code = code::CALL_FAILED.to_owned();
    // The type of a boxed error is forgotten; one that was returned as it is still has its name.
    if report.error_type == ANONYMOUS && is_concrete(type_name) {
        report.error_type = type_name.to_owned();
    }
    report
}

/// The report of a panic, with the place that the hook saw.
pub(crate) fn report_panic(payload: &(dyn std::any::Any + Send)) -> ErrorReport {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let message = message.unwrap_or_else(|| "a value that is no text".to_owned());
    let mut report = ErrorReport::new(code::CALL_FAILED, "panic", message);
    report.traceback = LAST_PANIC.with_borrow_mut(Option::take);
    report
}

/// Notes where panics happen, before whatever hook there was.
pub(crate) fn watch_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let trace = std::backtrace::Backtrace::capture();
        let captured = trace.status() == std::backtrace::BacktraceStatus::Captured;
        let text =
            if captured { format!("panicked at {place}\n{trace}") } else { format!("panicked at {place}") };
        LAST_PANIC.set(Some(text));
        before(info);
    }));
}

const ANONYMOUS: &str = "Error";

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn report_link(error: &(dyn Error + 'static), depth: usize) -> ErrorReport {
    let mut report = ErrorReport::new("", ANONYMOUS, error.to_string());
    if let Some(failure) = error.downcast_ref::<Failure>() {
        report.error_type.clone_from(&failure.error_type);
        report.properties =
            Some(Value::Map(failure.properties.clone())).filter(|_| !failure.properties.is_empty());
    } else if error.is::<std::io::Error>() {
        report.error_type = "std::io::Error".to_owned();
    }
    report.language = LANGUAGE.to_owned();
    report.cause =
        error.source().filter(|_| depth < MAX_CAUSES).map(|source| Box::new(report_link(source, depth + 1)));
    report
}

pub(crate) const LANGUAGE: &str = "rust";

fn is_cancel(error: &(dyn Error + 'static), depth: usize) -> bool {
    let deeper = |source| depth < MAX_CAUSES && is_cancel(source, depth + 1);
    error.is::<Cancelled>() || error.source().is_some_and(deeper)
}

fn is_concrete(type_name: &str) -> bool {
    !type_name.contains("dyn ") && !type_name.starts_with("alloc::string") && !type_name.starts_with('&')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot load")]
    struct Load(#[source] std::io::Error);

    #[test]
    fn a_report_has_type_text_and_causes() {
        let error: BoxError = Box::new(Load(std::io::Error::other("no disk")));
        let report = report_of(&error, std::any::type_name::<Load>());
        assert_eq!(report.code, code::CALL_FAILED);
        assert!(report.error_type.ends_with("Load"), "{}", report.error_type);
        assert_eq!(report.message, "cannot load");
        let cause = report.cause.unwrap();
        assert_eq!((cause.error_type.as_str(), cause.message.as_str()), ("std::io::Error", "no disk"));
    }

    #[test]
    fn a_failure_keeps_its_properties() {
        let error: BoxError = Failure::new("over quota").error_type("QuotaError").property("limit", 3).into();
        let report = report_of(&error, "x");
        assert_eq!(report.error_type, "QuotaError");
        assert_eq!(report.properties.unwrap().get("limit"), Some(&Value::Integer(3)));
    }

    #[test]
    fn an_error_caused_by_a_cancel_is_a_cancel() {
        let error: BoxError = Failure::new("gave up").caused_by(Cancelled).into();
        assert!(matches!(outcome_of(&error, "x"), Outcome::Cancelled));
    }
}
