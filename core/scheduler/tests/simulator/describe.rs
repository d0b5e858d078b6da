//! Inputs in a few words, for histories and for the transition table. Actions have theirs from the scheduler.

use ganger_scheduler::{Action, Batch, CallSpec, Declaration, Input};

pub(crate) fn describe(action: &Action) -> String {
    action.to_string()
}

pub(crate) fn describe_input(input: &Input) -> String {
    match input {
        Input::Submit { call, spec } => format!("submit {call}{}", of_spec(spec)),
        Input::Declare { call, declaration } => format!("declare {call}{}", of_declaration(declaration)),
        Input::Cancel { call } => format!("cancel {call}"),
        Input::Close { timeout: Some(span) } => format!("close within {span:?}"),
        Input::Close { timeout: None } => "close".into(),
        Input::Terminate => "terminate".into(),
        Input::Warm { workers } => format!("warm {workers}"),
        Input::Reload => "reload".into(),
        Input::Sample { worker, memory } => format!("{worker} uses {memory}"),
        Input::Headroom { memory: Some(left) } => format!("headroom {left}"),
        Input::Headroom { memory: None } => "headroom unknown".into(),
        Input::Pong { worker } => format!("{worker} answers a ping"),
        Input::Attach { attachment } => format!("attach {attachment}"),
        Input::Claims { worker } => format!("{worker} claims calls"),
        Input::TakenBack { worker, asked, taken } => format!("{taken} of {asked} are back from {worker}"),
        Input::Ready { worker } => format!("{worker} is ready"),
        Input::Heard { worker, call } => format!("{worker} speaks of {call}"),
        Input::Answered { worker, call } => format!("{worker} answers {call}"),
        Input::Violated { worker } => format!("{worker} breaks the protocol"),
        Input::Exited { worker, exit, unwritten } => {
            let calls: Vec<String> = unwritten.iter().map(ToString::to_string).collect();
            let rest =
                if calls.is_empty() { String::new() } else { format!(", unwritten {}", calls.join(" ")) };
            format!("{worker} exits ({exit}){rest}")
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
    if let Some(key) = spec.affinity {
        words += &format!(" affinity {key}");
    }
    if spec.exclusive {
        words += " exclusive";
    }
    if let Some(worker) = spec.pinned {
        words += &format!(" pinned to {worker}");
    }
    words + &of_batch(spec.batch.as_deref().copied())
}

fn of_batch(batch: Option<Batch>) -> String {
    batch.map_or(String::new(), |Batch { key, max, wait }| format!(" batch {key} of {max} within {wait:?}"))
}

fn of_declaration(declaration: &Declaration) -> String {
    let Declaration { idempotent, timeout, slots, exclusive, batch } = *declaration;
    let mut words = String::new();
    for (name, holds) in [("idempotent", idempotent), ("exclusive", exclusive)] {
        if holds {
            words += &format!(" {name}");
        }
    }
    if let Some(span) = timeout {
        words += &format!(" timeout {span:?}");
    }
    if let Some(slots) = slots {
        words += &format!(" slots {slots}");
    }
    words + &of_batch(batch)
}
