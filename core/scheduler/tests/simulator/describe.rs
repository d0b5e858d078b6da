//! Inputs and actions in a few words, for histories and for the transition table.

use ganger_scheduler::{
    Action, CallSpec, CancelReason, DeathCause, Event, Exit, ExitReason, Failure, Input, KillCause,
    Settlement, Started,
};

pub(crate) fn describe(action: &Action) -> String {
    match action {
        Action::Spawn { worker } => format!("spawn {worker}"),
        Action::Admit { attachment, worker } => format!("admit {attachment} as {worker}"),
        Action::Refuse { attachment } => format!("refuse {attachment}"),
        Action::Assign { worker, call, attempt, remaining } => match remaining {
            Some(rest) => format!("assign {call} to {worker}, attempt {attempt}, {rest:?} left"),
            None => format!("assign {call} to {worker}, attempt {attempt}"),
        },
        Action::Cancel { worker, call, reason } => {
            format!("ask {worker} to stop {call} ({})", of_cancel(*reason))
        }
        Action::Stop { worker, timeout } => format!("stop {worker} within {timeout:?}"),
        Action::Kill { worker, cause } => format!("kill {worker} ({})", of_kill(*cause)),
        Action::Settle { call, settlement } => format!("settle {call}: {}", of_settlement(settlement)),
        Action::Emit(event) => of_event(event),
        Action::Closed => "closed".into(),
    }
}

pub(crate) fn describe_input(input: &Input) -> String {
    match input {
        Input::Submit { call, spec } => format!("submit {call}{}", of_spec(spec)),
        Input::Cancel { call } => format!("cancel {call}"),
        Input::Close { timeout: Some(span) } => format!("close within {span:?}"),
        Input::Close { timeout: None } => "close".into(),
        Input::Terminate => "terminate".into(),
        Input::Attach { attachment } => format!("attach {attachment}"),
        Input::Ready { worker } => format!("{worker} is ready"),
        Input::Heard { worker, call } => format!("{worker} speaks of {call}"),
        Input::Answered { worker, call } => format!("{worker} answers {call}"),
        Input::Violated { worker } => format!("{worker} breaks the protocol"),
        Input::Exited { worker, exit, unwritten } => {
            let calls: Vec<String> = unwritten.iter().map(ToString::to_string).collect();
            let rest =
                if calls.is_empty() { String::new() } else { format!(", unwritten {}", calls.join(" ")) };
            format!("{worker} exits ({}){rest}", of_exit(*exit))
        }
    }
}

fn of_spec(spec: &CallSpec) -> String {
    let mut words = String::new();
    let spans = [
        ("queue", spec.queue_timeout),
        ("timeout", spec.timeout),
        ("deadline", spec.deadline),
        ("grace", Some(spec.cancel_grace)),
    ];
    for (name, span) in spans {
        if let Some(span) = span {
            words += &format!(" {name} {span:?}");
        }
    }
    if spec.idempotent {
        words += &format!(" retries {}", spec.retries);
    }
    for (name, value, usual) in
        [("slots", i64::from(spec.slots), 1), ("priority", i64::from(spec.priority), 0)]
    {
        if value != usual {
            words += &format!(" {name} {value}");
        }
    }
    words
}

pub(crate) fn of_settlement(settlement: &Settlement) -> String {
    match settlement {
        Settlement::Answered { attempts } => format!("answered, attempts {attempts}"),
        Settlement::Failed { failure, started, attempts } => {
            format!("{}, started {}, attempts {attempts}", of_failure(failure), of_started(*started))
        }
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

fn of_event(event: &Event) -> String {
    match event {
        Event::WorkerStart { worker } => format!("[start {worker}]"),
        Event::WorkerReady { worker, started_in } => format!("[ready {worker} in {started_in:?}]"),
        Event::WorkerExit { worker, exit, running, calls, reason, cause } => format!(
            "[exit {worker}: {}, {}, {}, running {running}, answered {calls}]",
            of_exit(*exit),
            of_reason(*reason),
            of_cause(*cause)
        ),
        Event::CallRetry { call, attempt, retries, worker } => {
            format!("[retry {call}: attempt {attempt} lost with {worker}, retries {retries}]")
        }
        Event::QueueFull { waiting, bytes } => format!("[queue full: {waiting} calls, {bytes} bytes]"),
        Event::QueueDrain => "[queue drain]".into(),
    }
}

fn of_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown".into(),
        Exit::NotStarted => "not started".into(),
        Exit::Detached => "detached".into(),
    }
}

fn of_cause(cause: DeathCause) -> String {
    match cause {
        DeathCause::Exit => "exit".into(),
        DeathCause::Signal => "signal".into(),
        DeathCause::CancelKill { culprit } => format!("cancel-kill for {culprit}"),
        DeathCause::StartTimeout => "start timeout".into(),
        DeathCause::Close => "close".into(),
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
        KillCause::Protocol => "protocol".into(),
    }
}

fn of_reason(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Crash => "crash",
        ExitReason::StartFailed => "start-failed",
        ExitReason::Shutdown => "shutdown",
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
