//! From a settlement to what the caller gets.

use std::sync::Arc;

use bytes::Bytes;
use ganger_protocol::message::ErrorReport as WireReport;
use ganger_scheduler::{
    CallId, DeathCause as Cause, Failure, Input as News, Settlement, Started as Known, Timestamp,
};

use super::Aftermath;
use super::books::{Books, Obituary};
use crate::call::Outcome;
use crate::error::{DeathCause, Error, ErrorCode, ErrorReport, Started, WorkerDeath};

impl Books {
    pub(super) fn settle(
        &mut self,
        id: CallId,
        settlement: Settlement,
        now: Timestamp,
        aftermath: &mut Aftermath,
    ) {
        let Some(mut call) = self.calls.remove(&id) else { return };
        if let Some(admitted) = call.admitted.take() {
            aftermath.run(admitted);
        }
        let function = Arc::clone(&call.call.function);
        let outcome = match settlement {
            Settlement::Answered { attempts } => {
                let waited = call.assigned_at.map_or_else(Default::default, |at| at.since(call.submitted_at));
                let ran = call.assigned_at.map_or_else(Default::default, |at| now.since(at));
                self.latencies.record_wait(waited);
                self.latencies.record_run(ran);
                self.take_answer(id, attempts, function)
            }
            Settlement::Failed { failure, started, attempts } => {
                let error = self.instead(id).unwrap_or_else(|| self.failure(failure));
                Err(Box::new(error.about(function, known(started), attempts)))
            }
        };
        self.tally.settled(call.counted_at, &outcome);
        aftermath.settle(call.completion, outcome);
    }

    /// Cancels a call, and settles it with `error` if there is one.
    pub(super) fn give_up(
        &mut self,
        call: CallId,
        error: Option<Box<Error>>,
        now: Timestamp,
        aftermath: &mut Aftermath,
    ) {
        self.instead = error.map(|error| (call, error));
        self.tell(now, News::Cancel { call }, aftermath);
        self.instead = None;
    }

    fn instead(&mut self, call: CallId) -> Option<Error> {
        self.instead.take_if(|(about, _)| *about == call).map(|(_, error)| *error)
    }

    fn take_answer(&mut self, id: CallId, attempts: u32, function: Arc<str>) -> Outcome {
        match self.answer.take() {
            Some((call, Ok(reply))) if call == id => Ok(crate::call::Reply { attempts, ..reply }),
            Some((call, Err(error))) if call == id => {
                Err(Box::new(error.about(function, Started::Yes, attempts)))
            }
            Some(_) | None => {
                unreachable!("a call is settled as answered only while its answer is being told")
            }
        }
    }

    fn failure(&self, failure: Failure) -> Error {
        match failure {
            Failure::QueueFull { waiting, bytes, running } => {
                Error::queue_full(waiting as u64, bytes, running as u64)
            }
            Failure::QueueTimeout { waited, waiting, running } => {
                Error::queue_timeout(waited, waiting as u64, running as u64)
            }
            Failure::Timeout { ran } => Error::timeout(ran),
            Failure::DeadlineExceeded { age } => Error::deadline_exceeded(age),
            Failure::Cancelled => Error::cancelled(),
            Failure::WorkerDied { cause, .. } => self.worker_died(cause),
            Failure::StartFailed => self.start_failed(),
            Failure::PoolClosed => Error::pool_closed(),
            Failure::TooManySlots { slots, concurrency } => {
                let message =
                    format!("the call takes {slots} slots, but a worker's concurrency is {concurrency}");
                Error::new(ErrorCode::InvalidOption, message).with_detail("option", "slots")
            }
        }
    }

    fn worker_died(&self, cause: Cause) -> Error {
        let obituary =
            self.obituary.as_ref().expect("a worker's calls are lost only while its end is being told");
        let death = obituary.death(cause);
        match (cause, &obituary.violation) {
            (Cause::Protocol, Some(violation)) => Error::protocol(violation).with_worker(death),
            _ => Error::worker_crashed(death),
        }
    }

    pub(super) fn start_failed(&self) -> Error {
        match &self.last_start_failure {
            Some(failure) => Error::clone(failure),
            None => Error::start_failed("no worker could be started"),
        }
    }
}

/// An ERROR frame before READY.
pub(super) fn start_error_from_report(report: WireReport) -> Error {
    Error::start_failed_with(report_from_wire(report))
}

/// An ERROR frame about a call.
pub(super) fn error_from_report(report: WireReport, payload: Bytes) -> Result<Error, String> {
    let code = match report.code.as_str() {
        "CALL_FAILED" => ErrorCode::CallFailed,
        "CANCELLED" => ErrorCode::Cancelled,
        "INVALID_INPUT" => ErrorCode::InvalidInput,
        "INVALID_RESULT" => ErrorCode::InvalidResult,
        "NO_SUCH_FUNCTION" => ErrorCode::NoSuchFunction,
        "PAYLOAD_TOO_LARGE" => ErrorCode::PayloadTooLarge,
        other => return Err(format!("an error with the unknown code {other:?}")),
    };
    let error = Error::reported(code, report_from_wire(report));
    Ok(if payload.is_empty() { error } else { error.with_payload(payload) })
}

fn report_from_wire(report: WireReport) -> ErrorReport {
    ErrorReport {
        r#type: report.error_type,
        message: report.message,
        traceback: report.traceback,
        language: report.language,
        properties: report.properties.map_or(serde_json::Value::Null, |properties| properties.to_json()),
        dropped: report.dropped.unwrap_or_default(),
        path: report.path,
        cause: report.cause.map(|cause| Box::new(report_from_wire(*cause))),
    }
}

fn known(started: Known) -> Started {
    match started {
        Known::No => Started::No,
        Known::Maybe => Started::Maybe,
        Known::Yes => Started::Yes,
    }
}

/// The same causes, as apps are told them.
pub(super) fn cause(cause: Cause) -> DeathCause {
    match cause {
        Cause::Exit => DeathCause::Exit,
        Cause::Signal => DeathCause::Signal,
        Cause::CancelKill { .. } => DeathCause::CancelKill,
        Cause::StartTimeout => DeathCause::StartTimeout,
        Cause::Close => DeathCause::Close,
        Cause::Protocol => DeathCause::Protocol,
        Cause::NotStarted => DeathCause::NotStarted,
        Cause::Detached => DeathCause::Detached,
        Cause::Idle => DeathCause::Idle,
        Cause::Recycled => DeathCause::Recycled,
        Cause::Unresponsive => DeathCause::Unresponsive,
    }
}

impl Obituary {
    /// The death as apps are told it.
    pub(super) fn death(&self, of: Cause) -> WorkerDeath {
        let culprit = match of {
            Cause::CancelKill { culprit } => self.asked.get(&culprit).map(|function| function.to_string()),
            Cause::Close
            | Cause::Detached
            | Cause::Exit
            | Cause::Idle
            | Cause::NotStarted
            | Cause::Protocol
            | Cause::Recycled
            | Cause::Signal
            | Cause::StartTimeout
            | Cause::Unresponsive => None,
        };
        WorkerDeath { cause: self.cause(of), culprit, ..self.record.clone() }
    }

    /// What the shell found out about the death is more than that it came by a signal or code.
    pub(super) fn cause(&self, of: Cause) -> DeathCause {
        let told = cause(of);
        if matches!(told, DeathCause::Exit | DeathCause::Signal) { self.record.cause } else { told }
    }
}
