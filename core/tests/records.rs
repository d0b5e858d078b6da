//! What a pool records of itself, played again, ends as it did.

mod support;

use std::collections::BTreeMap;

use ganger::Outcome;
use ganger_scheduler::{Action, Failure, Recording, Scheduler, Settlement, Timestamp};
use serde_json::{Value, json};
use support::{PATIENCE, asked, outcome, pool};

#[test]
fn a_crash_and_a_retry_happen_again_from_their_record() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(json!({ "workers": 2, "cancel_grace": "200ms" }));
    let path = |name: &str| json!(directory.path().join(name));
    let calls: [(&str, Value, Value); 6] = [
        ("echo", json!(1), json!({})),
        ("note_and_die", path("once"), json!({})),
        ("note_and_die", path("thrice"), json!({ "idempotent": true, "retries": 2 })),
        ("stubborn", json!({}), json!({ "timeout": "100ms" })),
        ("nap", json!(0.01), json!({})),
        ("missing", json!({}), json!({})),
    ];
    let mut lived = BTreeMap::new();
    for (function, input, options) in calls {
        let (sender, receiver) = std::sync::mpsc::channel();
        let call = asked(function, &input, &options);
        let id = pool.submit(call, Box::new(move |outcome| sender.send(outcome).unwrap())).unwrap();
        lived.insert(id, end(&outcome(&receiver)));
    }
    pool.close_blocking(Some(PATIENCE));

    let text = pool.flight_record();
    let recording: Recording = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut replayed = BTreeMap::new();
    let scheduler = Scheduler::replay(&recording, |_, actions| {
        for action in actions {
            if let Action::Settle { call, settlement } = action {
                assert!(replayed.insert(call, replayed_end(&settlement)).is_none(), "settled once");
            }
        }
    })
    .unwrap();
    assert_eq!(replayed, lived, "{text}");
    assert_eq!(scheduler.stats(Timestamp::ZERO).counters, recording.counters);
    assert!(recording.counters.retried == 2 && recording.counters.crashed >= 4, "{:?}", recording.counters);
}

/// The scheduler does not know results from errors of the function's own.
fn end(outcome: &Outcome) -> (String, u32) {
    match outcome {
        Ok(reply) => ("answered".into(), reply.attempts),
        Err(error) => match error.code.to_string().as_str() {
            "CALL_FAILED" | "NO_SUCH_FUNCTION" => ("answered".into(), error.attempts),
            code => (code.into(), error.attempts),
        },
    }
}

fn replayed_end(settlement: &Settlement) -> (String, u32) {
    match settlement {
        Settlement::Answered { attempts } => ("answered".into(), *attempts),
        Settlement::Failed { failure, attempts, .. } => (code(failure).into(), *attempts),
    }
}

fn code(failure: &Failure) -> &'static str {
    match failure {
        Failure::QueueFull { .. } => "QUEUE_FULL",
        Failure::QueueTimeout { .. } => "QUEUE_TIMEOUT",
        Failure::Timeout { .. } => "TIMEOUT",
        Failure::DeadlineExceeded { .. } => "DEADLINE_EXCEEDED",
        Failure::Cancelled => "CANCELLED",
        Failure::WorkerDied { .. } => "WORKER_CRASHED",
        Failure::StartFailed => "START_FAILED",
        Failure::PoolClosed => "POOL_CLOSED",
        Failure::TooManySlots { .. } => "INVALID_OPTION",
    }
}
