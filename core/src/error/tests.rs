use std::error::Error as _;
use std::time::Duration;

use serde_json::json;

use super::*;

fn death() -> WorkerDeath {
    WorkerDeath {
        pid: Some(4711),
        index: 2,
        generation: 1,
        code: None,
        signal: Some(Signal(9)),
        cause: DeathCause::Signal,
        culprit: None,
        stderr_tail: "oh\nno\n".into(),
        uptime_ms: 12,
        last_calls: Vec::new(),
        memory: Vec::new(),
    }
}

#[test]
fn the_table_and_the_enum_agree() {
    for (index, row) in ERRORS.iter().enumerate() {
        assert_eq!(row.code as usize, index);
        assert_eq!(row.code.as_str(), row.name);
        assert_eq!(ErrorCode::from_name(row.name), Some(row.code));
        assert_eq!(row.python_class.is_none(), row.code == ErrorCode::Cancelled, "{}", row.name);
        assert!(row.doc.ends_with('.'), "{}", row.name);
    }
    let timeouts: Vec<_> =
        ERRORS.iter().filter(|row| row.python_base.is_some()).map(|row| row.name).collect();
    assert_eq!(timeouts, ["QUEUE_TIMEOUT", "TIMEOUT", "DEADLINE_EXCEEDED"]);
    assert_eq!(ErrorCode::from_name("NO_SUCH_CODE"), None);
}

#[test]
fn an_error_is_one_line_and_has_its_source() {
    let cause = ErrorReport { r#type: "KeyError".into(), message: "'x'".into(), ..ErrorReport::default() };
    let report = ErrorReport {
        r#type: "ValueError".into(),
        message: "bad\namount".into(),
        cause: Some(Box::new(cause)),
        ..ErrorReport::default()
    };
    let error = Error::call_failed(report);
    assert_eq!(error.message, "ValueError: bad\namount");
    assert_eq!(error.to_string(), "CALL_FAILED: ValueError: bad");
    let source = error.source().unwrap();
    assert_eq!(
        (source.to_string().as_str(), source.source().unwrap().to_string().as_str()),
        ("ValueError: bad", "KeyError: 'x'")
    );
}

#[test]
fn a_death_is_told_in_one_sentence() {
    let mut death = death();
    assert_eq!(death.sentence(), "worker 2 (pid 4711) was ended by SIGKILL");
    (death.signal, death.code, death.cause) = (None, Some(3), DeathCause::Exit);
    assert_eq!(death.sentence(), "worker 2 (pid 4711) exited with code 3");
    (death.pid, death.cause) = (None, DeathCause::NotStarted);
    assert_eq!(death.sentence(), "worker 2 could not be started");
    (death.culprit, death.cause) = (Some("prices.convert".into()), DeathCause::CancelKill);
    assert_eq!(death.sentence(), "worker 2 was killed because a call of prices.convert did not stop");
}

#[test]
fn apps_see_every_field_in_their_spelling() {
    let error = Error::worker_crashed(death())
        .about("prices.convert".into(), Started::Maybe, 2)
        .with_detail("waited_ms", 7);
    assert_eq!(
        error.to_value(Surface::Node),
        json!({
            "code": "WORKER_CRASHED",
            "message": "worker 2 (pid 4711) was ended by SIGKILL",
            "fault": "worker",
            "safeToRepeat": false,
            "started": "maybe",
            "attempts": 2,
            "function": "prices.convert",
            "pid": 4711,
            "exitCode": null,
            "signal": "SIGKILL",
            "worker": {
                "pid": 4711, "index": 2, "lastCalls": [], "memory": [], "generation": 1, "code": null, "signal": "SIGKILL", "cause": "signal",
                "culprit": null, "stderrTail": "oh\nno\n", "uptimeMs": 12,
            },
            "report": null,
            "details": {"waitedMs": 7},
        })
    );
    assert_eq!(error.to_value(Surface::Python)["details"]["waited_ms"], json!(7));
}

#[test]
fn a_call_that_has_not_started_is_safe_to_repeat() {
    let closed = Error::pool_closed();
    assert!(closed.safe_to_repeat());
    assert!(!closed.about("f".into(), Started::Maybe, 1).safe_to_repeat());
    assert!(Error::queue_full(1, 17, 4).safe_to_repeat());
    assert!(!Error::timeout(Duration::from_secs(1)).about("f".into(), Started::Yes, 1).safe_to_repeat());
    assert!(!Error::cancelled().safe_to_repeat(), "nobody repeats what they cancelled");
}

#[test]
fn messages_say_what_was_measured() {
    assert_eq!(
        Error::queue_full(1, 1 << 20, 4).message,
        "the queue is full: 1 call waiting (1MiB), 4 running"
    );
    let waited = Error::queue_timeout(Duration::from_micros(1_500_999), 3, 4);
    assert_eq!(waited.message, "no worker had room for 1.5s: 3 calls waiting, 4 running");
    assert_eq!(waited.details.0["waited_ms"], json!(1500));
}

#[test]
fn what_a_worker_reports_keeps_its_code_and_path() {
    let report = ErrorReport {
        message: "not a number".into(),
        path: Some("$.amount".into()),
        ..ErrorReport::default()
    };
    let error = Error::reported(ErrorCode::InvalidInput, report.clone());
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidInput, "not a number"));
    assert_eq!(error.details.0["path"], json!("$.amount"));
    assert_eq!(Error::reported(ErrorCode::CallFailed, report).code, ErrorCode::CallFailed);
}

#[test]
fn a_refused_option_is_an_error_of_the_caller() {
    let map = json!({"python": "x", "worker": 3}).as_object().unwrap().clone();
    let error: Error = crate::options::PoolOptions::parse(&map, Surface::Node).unwrap_err().into();
    assert_eq!(error.to_string(), r#"INVALID_OPTION: unknown option "worker"; did you mean "workers"?"#);
    assert_eq!(error.details.0["option"], json!("worker"));
}

#[test]
fn results_stay_small() {
    assert!(size_of::<Error>() < 128, "{}", size_of::<Error>());
}
