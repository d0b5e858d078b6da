//! Workers die in every way and phase; every call is settled with its own error and the pool serves on.

mod support;

use serde_json::json;
use support::{
    PATIENCE, call, call_with, code, events, integer, kill, outcome, pids, pool, runs, submit, until,
};

use ganger::events::Event;

const WAYS: [(&str, Option<i32>, Option<&str>); 4] = [
    ("0", Some(0), None),
    ("1", Some(1), None),
    ("SIGKILL", None, Some("SIGKILL")),
    ("abort", None, Some("SIGABRT")),
];

#[test]
fn a_death_while_running_names_pid_and_manner_and_the_pool_serves_on() {
    let pool = pool(json!({}));
    for (how, code, signal) in WAYS {
        let pid = integer(call(&pool, "pid", json!({})));
        let error = call(&pool, "leave", json!(how)).unwrap_err();
        assert_eq!(error.code.to_string(), "WORKER_CRASHED", "{how}");
        let death = error.worker.clone().unwrap();
        assert_eq!(i64::from(death.pid.unwrap()), pid, "{how}");
        assert_eq!(death.code, code, "{how}");
        assert_eq!(death.signal.and_then(|signal| signal.name()), signal, "{how}");
        assert_eq!((error.attempts, error.function.as_deref()), (1, Some("leave")));
    }
    assert!(call(&pool, "echo", json!(1)).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_death_before_ready_is_a_failed_start() {
    for how in ["0", "1", "SIGABRT"] {
        let pool = pool(json!({ "env": { "DIE_AT_IMPORT": how } }));
        let error = call(&pool, "echo", json!(1)).unwrap_err();
        assert_eq!(error.code.to_string(), "START_FAILED", "{how}");
        assert!(error.message.contains("before it was ready"), "{}", error.message);
        pool.terminate_blocking();
    }
}

#[test]
fn a_death_while_idle_is_replaced_at_once_and_costs_no_call() {
    let pool = pool(json!({}));
    for signal in ["KILL", "ABRT"] {
        assert!(call(&pool, "echo", json!(1)).is_ok());
        let pid = pids(&pool)[0];
        kill(pid, signal);
        until("a replacement is ready", || pids(&pool).first().is_some_and(|next| *next != pid));
        assert!(call(&pool, "echo", json!(1)).is_ok());
    }
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_death_while_stopping_ends_the_pool_all_the_same() {
    for how in ["0", "1", "SIGKILL", "abort"] {
        let pool = pool(json!({ "env": { "DIE_AT_STOP": how } }));
        assert!(call(&pool, "echo", json!(1)).is_ok());
        let pid = pids(&pool)[0];
        pool.close_blocking(Some(PATIENCE));
        until("the worker is gone", || !runs(pid));
        assert_eq!(code(call(&pool, "echo", json!(1))), "POOL_CLOSED");
    }
}

#[test]
fn calls_not_yet_handed_over_survive_a_crash() {
    let pool = pool(json!({}));
    let calls = [
        submit(&pool, "leave", json!("SIGKILL"), json!({})),
        submit(&pool, "echo", json!(2), json!({})),
        submit(&pool, "echo", json!(3), json!({})),
    ];
    let codes: Vec<bool> = calls.iter().map(|call| outcome(call).is_ok()).collect();
    assert_eq!(codes, [false, true, true]);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn neighbours_fail_each_with_an_error_of_its_own() {
    let pool = pool(json!({ "concurrency": 4 }));
    let neighbours: Vec<_> = (0..3).map(|_| submit(&pool, "nap", json!(60), json!({}))).collect();
    until("they run", || pool.stats().running == 3);
    let culprit = submit(&pool, "leave", json!("SIGKILL"), json!({}));
    for call in neighbours.iter().chain([&culprit]) {
        let error = outcome(call).unwrap_err();
        assert_eq!(error.code.to_string(), "WORKER_CRASHED");
    }
    assert_eq!(pool.stats().running, 0);
    pool.terminate_blocking();
}

#[test]
fn a_killer_call_runs_once_or_as_often_as_it_was_allowed_to() {
    let directory = tempfile::tempdir().unwrap();
    let pool = pool(json!({ "workers": 2 }));
    for (name, options, runs) in
        [("once", json!({}), 1), ("thrice", json!({ "idempotent": true, "retries": 2 }), 3)]
    {
        let path = directory.path().join(name);
        let error = call_with(&pool, "note_and_die", json!(path), options).unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.attempts), ("WORKER_CRASHED", runs));
        let noted = std::fs::read_to_string(&path).unwrap();
        let mut pids: Vec<&str> = noted.lines().collect();
        pids.dedup();
        assert_eq!(pids.len(), runs as usize, "on {runs} workers: {noted}");
    }
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn the_last_words_come_before_the_exit() {
    let pool = pool(json!({}));
    let heard = events(&pool);
    let error = call(&pool, "complain", json!(300)).unwrap_err();
    assert!(error.worker.unwrap().stderr_tail.ends_with("complaint 299\n"));
    pool.close_blocking(Some(PATIENCE));
    assert!(pool.flush_events(PATIENCE));
    let heard = heard.lock().unwrap();
    let exit = heard.iter().position(|event| matches!(event, Event::WorkerExit(_))).unwrap();
    let complaints = heard[..exit].iter().filter(|event| matches!(event, Event::WorkerLog(_))).count();
    assert_eq!(complaints, 300);
}

#[test]
fn a_stubborn_call_is_settled_at_its_timeout_and_its_worker_killed_after_the_grace() {
    let pool = pool(json!({ "concurrency": 2, "cancel_grace": "200ms" }));
    let neighbour = submit(&pool, "nap", json!(60), json!({}));
    until("it runs", || pool.stats().running == 1);
    assert_eq!(code(call_with(&pool, "stubborn", json!({}), json!({ "timeout": "100ms" }))), "TIMEOUT");
    let error = outcome(&neighbour).unwrap_err();
    assert_eq!(error.code.to_string(), "WORKER_CRASHED");
    assert_eq!(error.worker.unwrap().culprit.as_deref(), Some("stubborn"));
    assert!(call(&pool, "echo", json!(1)).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_polite_call_is_stopped_alone() {
    let pool = pool(json!({ "concurrency": 4 }));
    let pid = integer(call(&pool, "pid", json!({})));
    let neighbours: Vec<_> = (0..3).map(|_| submit(&pool, "nap", json!(1.0), json!({}))).collect();
    assert_eq!(code(call_with(&pool, "nap", json!(60), json!({ "timeout": "100ms" }))), "TIMEOUT");
    assert!(neighbours.iter().all(|call| outcome(call).is_ok()));
    assert_eq!(
        code(call_with(&pool, "polite", json!({}), json!({ "deadline": "100ms" }))),
        "DEADLINE_EXCEEDED"
    );
    until("the slot is free", || pool.stats().running == 0);
    assert_eq!(integer(call(&pool, "pid", json!({}))), pid);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn grandchildren_go_with_their_worker() {
    let pool = pool(json!({}));
    let grandchild = u32::try_from(integer(call(&pool, "grandchild", json!({})))).unwrap();
    assert!(runs(grandchild));
    pool.close_blocking(Some(PATIENCE));
    until("the grandchild is gone", || !runs(grandchild));
}

/// Stopped, it cannot read: what is written to it meanwhile is written to nobody.
#[cfg(target_os = "linux")]
#[test]
fn a_call_that_its_worker_never_read_is_served_by_the_next_one() {
    let pool = pool(json!({ "workers": 1 }));
    let pid = integer(call(&pool, "pid", json!(null)));
    let pid = u32::try_from(pid).unwrap();
    for size in [1, 100_000] {
        let pid = if size == 1 { pid } else { pids(&pool)[0] };
        kill(pid, "STOP");
        let text = "x".repeat(size);
        let unread = submit(&pool, "echo", json!(text), json!({}));
        until("it was handed over", || pool.stats().running == 1);
        kill(pid, "KILL");
        let reply = outcome(&unread).unwrap();
        assert_eq!(reply.attempts, 1);
        assert!(reply.payload.len() > size);
    }
}
