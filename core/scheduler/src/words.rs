//! Actions and ends of processes in a few words: what is read of a flight record that is played again.

use std::fmt;

use crate::action::{Action, CancelReason, HandedTogether, KillCause, Settlement};
use crate::call::Started;
use crate::event::{Event, ExitReason};
use crate::failure::{DeathCause, Failure};
use crate::input::Exit;
use crate::recycle::RecycleReason;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Action::Spawn { worker, replaces: None } => format!("spawn {worker}"),
            Action::Spawn { worker, replaces: Some(old) } => format!("spawn {worker} in place of {old}"),
            Action::Admit { attachment, worker } => format!("admit {attachment} as {worker}"),
            Action::Refuse { attachment } => format!("refuse {attachment}"),
            Action::Assign { worker, call, attempt, remaining, batch } => {
                let rest = remaining.map_or(String::new(), |rest| format!(", {rest:?} left"));
                let place = batch.map_or(String::new(), |HandedTogether { nth, count }| {
                    format!(", {} of {count} together", nth + 1)
                });
                format!("assign {call} to {worker}, attempt {attempt}{rest}{place}")
            }
            Action::HandAhead { worker, call, attempt, remaining } => {
                let rest = remaining.map_or(String::new(), |rest| format!(", {rest:?} left"));
                format!("lay {call} before {worker}, attempt {attempt}{rest}")
            }
            Action::TakeUp { worker, call } => format!("{worker} takes up {call}"),
            Action::TakeBack { worker, most } => format!("take {most} back from {worker}"),
            Action::Cancel { worker, call, reason } => {
                format!("ask {worker} to stop {call} ({})", of_cancel(*reason))
            }
            Action::Ping { worker } => format!("ping {worker}"),
            Action::Admitted { call } => format!("admitted {call}"),
            Action::Stop { worker, timeout } => format!("stop {worker} within {timeout:?}"),
            Action::Kill { worker, cause } => format!("kill {worker} ({})", of_kill(*cause)),
            Action::Settle { call, settlement } => format!("settle {call}: {settlement}"),
            Action::Emit(event) => event.to_string(),
            Action::Closed => "closed".into(),
        };
        f.write_str(&words)
    }
}

impl fmt::Display for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Settlement::Answered { attempts } => format!("answered, attempts {attempts}"),
            Settlement::Failed { failure, started, attempts } => {
                format!("{}, started {}, attempts {attempts}", of_failure(failure), of_started(*started))
            }
        };
        f.write_str(&words)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Event::WorkerStart { worker } => format!("[start {worker}]"),
            Event::WorkerReady { worker, started_in } => format!("[ready {worker} in {started_in:?}]"),
            Event::WorkerExit { worker, exit, running, calls, reason, cause } => format!(
                "[exit {worker}: {}, {}, {}, running {running}, answered {calls}]",
                exit,
                of_reason(*reason),
                of_cause(*cause)
            ),
            Event::CallRetry { call, attempt, retries, worker } => {
                format!("[retry {call}: attempt {attempt} lost with {worker}, retries {retries}]")
            }
            Event::QueueFull { waiting, bytes } => format!("[queue full: {waiting} calls, {bytes} bytes]"),
            Event::QueueDrain => "[queue drain]".into(),
            Event::WorkerRecycle { worker, reason, memory, calls, cold } => {
                let memory = memory.map_or_else(String::new, |memory| format!(", memory {memory}"));
                let cold = if *cold { ", cold" } else { "" };
                format!("[recycle {worker}: {}, answered {calls}{memory}{cold}]", of_recycle(*reason))
            }
            Event::WorkerUnresponsive { worker, timeout } => {
                format!("[unresponsive {worker} for {timeout:?}]")
            }
            Event::Reload { replaced } => format!("[reload of {replaced}]"),
            Event::ReplacementFailed { worker, replacement } => {
                format!("[{worker} stays, {replacement} could not start]")
            }
            Event::MemoryFloor { worker, memory } => format!("[memory floor: {worker} uses {memory}]"),
        };
        f.write_str(&words)
    }
}

fn of_failure(failure: &Failure) -> String {
    match failure {
        Failure::QueueFull { waiting, running, .. } => format!("queue full ({waiting} wait, {running} run)"),
        Failure::QueueTimeout { waited, .. } => format!("queue timeout after {waited:?}"),
        Failure::Timeout { ran } => format!("timeout after {ran:?}"),
        Failure::DeadlineExceeded { age } => format!("deadline after {age:?}"),
        Failure::Cancelled => "cancelled".into(),
        Failure::WorkerDied { worker, cause } => format!("{worker} died ({})", of_cause(*cause)),
        Failure::StartFailed => "start failed".into(),
        Failure::PoolClosed => "pool closed".into(),
        Failure::TooManySlots { slots, concurrency } => format!("too many slots ({slots} of {concurrency})"),
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "code {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
            Exit::Unknown => f.write_str("unknown"),
            Exit::NotStarted => f.write_str("not started"),
            Exit::Detached => f.write_str("detached"),
        }
    }
}

fn of_cause(cause: DeathCause) -> String {
    match cause {
        DeathCause::Exit => "exit".into(),
        DeathCause::Signal => "signal".into(),
        DeathCause::CancelKill { culprit } => format!("cancel-kill for {culprit}"),
        DeathCause::StartTimeout => "start timeout".into(),
        DeathCause::Close => "close".into(),
        DeathCause::Idle => "idle".into(),
        DeathCause::Recycled => "recycled".into(),
        DeathCause::Unresponsive => "unresponsive".into(),
        DeathCause::Protocol => "protocol".into(),
        DeathCause::NotStarted => "not started".into(),
        DeathCause::Detached => "detached".into(),
    }
}

fn of_kill(cause: KillCause) -> String {
    match cause {
        KillCause::CancelKill { culprit } => format!("cancel-kill for {culprit}"),
        KillCause::StartTimeout => "start timeout".into(),
        KillCause::Close => "close".into(),
        KillCause::Unresponsive => "unresponsive".into(),
        KillCause::Protocol => "protocol".into(),
    }
}

fn of_reason(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Crash => "crash",
        ExitReason::StartFailed => "start-failed",
        ExitReason::Recycled => "recycled",
        ExitReason::Shutdown => "shutdown",
        ExitReason::Unresponsive => "unresponsive",
    }
}

fn of_recycle(reason: RecycleReason) -> &'static str {
    match reason {
        RecycleReason::Calls => "calls",
        RecycleReason::Memory => "memory",
        RecycleReason::Age => "age",
        RecycleReason::Reload => "reload",
    }
}

fn of_cancel(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Cancel => "cancel",
        CancelReason::Timeout => "timeout",
        CancelReason::Deadline => "deadline",
    }
}

fn of_started(started: Started) -> &'static str {
    match started {
        Started::No => "no",
        Started::Maybe => "maybe",
        Started::Yes => "yes",
    }
}
