//! Memory that is refused and memory that the system takes back: who dies of it, and what the caller is told.

mod support;

use std::process::Command;

use ganger::error::DeathCause;
use ganger::events::Event;
use ganger::{Error, Pool};
use serde_json::{Value, json};
use support::groups::SmallGroup;
use support::{
    PATIENCE, call, call_with, events, integer, kill, node_worker, outcome, pids, pool_of, submit, until,
};

const LIMIT_BYTES: u64 = 300_000_000;

fn hungry(options: Value) -> Pool {
    pool_of("hungry.py", options)
}

fn limited(options: &Value) -> Pool {
    let mut all = options.clone();
    all["memory_limit"] = json!("300mb");
    hungry(all)
}

/// The error names the limit, and the report shows how the memory grew towards it.
fn assert_the_limit_is_named(error: &Error) {
    assert_eq!(error.code.to_string(), "WORKER_CRASHED", "{error:?}");
    assert!(error.message.contains("went over its memory_limit"), "{}", error.message);
    let death = error.worker.as_deref().expect("a death");
    assert_eq!(death.cause, DeathCause::MemoryLimit);
    let (first, last) = (death.memory[0], death.memory[death.memory.len() - 1]);
    assert!(first < LIMIT_BYTES / 2 && first < last, "{:?}", death.memory);
    assert!((LIMIT_BYTES / 2..LIMIT_BYTES / 2 * 3).contains(&last), "{:?}", death.memory);
}

#[test]
fn python_is_refused_what_is_beyond_the_limit_and_serves_on() {
    let pool = limited(&json!({}));
    let pid = integer(call(&pool, "pid", json!({})));
    for (function, input) in [("want_at_once", json!(4_000)), ("leak", json!({}))] {
        let error = call(&pool, function, input).unwrap_err();
        assert_eq!(error.code.to_string(), "CALL_FAILED", "{function}");
        assert_eq!(error.report.unwrap().r#type, "MemoryError", "{function}");
    }
    assert_eq!(integer(call(&pool, "pid", json!({}))), pid, "an error of its own ends nobody");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn code_in_c_that_dies_of_the_limit_is_told_from_any_other_crash() {
    let pool = limited(&json!({}));
    let heard = events(&pool);
    let error = call(&pool, "leak_below", json!({})).unwrap_err();
    assert_the_limit_is_named(&error);
    assert_eq!(error.worker.unwrap().signal.unwrap().name(), Some("SIGSEGV"));
    let error = call(&pool, "give_up", json!({})).unwrap_err();
    assert_eq!(error.worker.unwrap().cause, DeathCause::MemoryLimit, "it said so itself");
    assert!(call(&pool, "echo", json!(1)).is_ok(), "the pool serves on");
    pool.close_blocking(Some(PATIENCE));
    assert!(pool.flush_events(PATIENCE));
    let heard = heard.lock().unwrap();
    let exits =
        heard.iter().filter_map(|event| if let Event::WorkerExit(exit) = event { Some(exit) } else { None });
    let causes: Vec<_> = exits.map(|exit| exit.cause).collect();
    assert_eq!(causes, [DeathCause::MemoryLimit, DeathCause::MemoryLimit, DeathCause::Close]);
}

#[test]
fn a_slow_leak_shows_in_the_report() {
    let pool = limited(&json!({}));
    let error = call(&pool, "leak_below", json!({ "pause": 0.12 })).unwrap_err();
    assert_the_limit_is_named(&error);
    let curve = error.worker.unwrap().memory;
    assert!(curve.len() >= 3 && curve.is_sorted(), "{curve:?}");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
#[cfg_attr(
    not(feature = "linux-extras"),
    ignore = "the portable sampler does not know what the limit counts"
)]
fn node_dies_of_too_many_objects_and_is_refused_a_large_buffer() {
    let pool =
        support::made(&json!({ "node": node_worker("hungry.mjs"), "workers": 1, "memory_limit": "300mb" }));
    assert_the_limit_is_named(&call(&pool, "leak", json!(null)).unwrap_err());
    let error = call(&pool, "wantAtOnce", json!(2_000)).unwrap_err();
    assert_eq!(error.code.to_string(), "CALL_FAILED", "{error:?}");
    assert!(error.message.contains("allocation failed"), "{}", error.message);
    // Buffers in small steps: either V8 tells the function, or its own next allocation is the one that is refused.
    let error = call(&pool, "buffers", json!(null)).unwrap_err();
    if error.code.to_string() != "CALL_FAILED" {
        assert_the_limit_is_named(&error);
    }
    assert!(call(&pool, "echo", json!(1)).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_kill_from_outside_is_no_matter_of_memory_however_much_was_used() {
    let pool = limited(&json!({}));
    assert!(call(&pool, "echo", json!(1)).is_ok());
    let holding = submit(&pool, "hold", json!({ "seconds": 60, "megabytes": 260 }), json!({}));
    until("most of the limit is used", || {
        pool.stats().details.iter().any(|worker| worker.memory.is_some_and(|bytes| bytes > 250_000_000))
    });
    kill(pids(&pool)[0], "KILL");
    let death = outcome(&holding).unwrap_err().worker.unwrap();
    assert_eq!(death.cause, DeathCause::Signal, "{death:?}");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_call_that_wants_too_much_is_tried_as_often_as_it_was_allowed_to() {
    let directory = tempfile::tempdir().unwrap();
    let pool = limited(&json!({ "workers": 2 }));
    for (name, options, attempts) in [("once", json!({}), 1), ("twice", json!({ "idempotent": true }), 2)] {
        let path = directory.path().join(name);
        let error = call_with(&pool, "leak_below", json!({ "path": path }), options).unwrap_err();
        assert_the_limit_is_named(&error);
        assert_eq!(error.attempts, attempts);
        let mut started_on: Vec<String> =
            std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        started_on.dedup();
        assert_eq!(started_on.len(), attempts as usize, "each attempt on a worker of its own");
    }
    assert_eq!(pool.stats().crashed, 3, "a killer call costs retries + 1 workers");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn neighbours_of_a_call_that_wants_too_much_are_tried_again_if_they_may() {
    let pool = limited(&json!({ "concurrency": 3 }));
    let may = submit(&pool, "nap", json!(2.0), json!({ "idempotent": true }));
    let may_not = submit(&pool, "nap", json!(60), json!({}));
    until("they run", || pool.stats().running == 2);
    assert_the_limit_is_named(&call(&pool, "leak_below", json!({})).unwrap_err());
    assert_the_limit_is_named(&outcome(&may_not).unwrap_err());
    assert_eq!(outcome(&may).unwrap().attempts, 2);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_limit_that_no_worker_can_start_with_is_a_failed_start_that_says_so() {
    let pool = hungry(json!({ "memory_limit": "2mb" }));
    let error = call(&pool, "echo", json!(1)).unwrap_err();
    assert_eq!(error.code.to_string(), "START_FAILED");
    assert_eq!(error.worker.as_deref().unwrap().cause, DeathCause::MemoryLimit, "{error:?}");
    pool.terminate_blocking();
}

#[test]
#[cfg_attr(not(feature = "linux-extras"), ignore = "only Linux counts what it kills")]
fn the_systems_own_killer_is_named() {
    let group = match SmallGroup::new(160 << 20) {
        Ok(group) => group,
        Err(reason) => return eprintln!("skipped: no control group with a limit here: {reason}"),
    };
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args(["--exact", "in_a_small_group", "--ignored", "--nocapture"])
        .env("GANGER_TEST_GROUP", group.members())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A host of its own in the group that it is told, as one in a container would be.
#[test]
#[ignore = "the_systems_own_killer_is_named runs it"]
fn in_a_small_group() {
    let members = std::env::var_os("GANGER_TEST_GROUP").expect("only run by the other test");
    std::fs::write(members, std::process::id().to_string()).unwrap();
    let pool = hungry(json!({}));
    // Before anything was killed for memory, a kill is a kill.
    let error = call(&pool, "wait_for_the_kill", json!({})).unwrap_err();
    assert_eq!(error.worker.unwrap().cause, DeathCause::Signal);
    for (options, attempts) in [(json!({}), 1), (json!({ "idempotent": true }), 2)] {
        let error = call_with(&pool, "leak", json!({}), options).unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.attempts), ("WORKER_CRASHED", attempts));
        assert!(
            error.message.contains("killed by the system because memory had run out"),
            "{}",
            error.message
        );
        let death = error.worker.unwrap();
        assert_eq!(death.cause, DeathCause::OomKiller);
        assert_eq!(death.signal.unwrap().name(), Some("SIGKILL"));
    }
    let error = call(&pool, "wait_for_the_kill", json!({})).unwrap_err();
    assert_eq!(
        error.worker.unwrap().cause,
        DeathCause::Signal,
        "what was killed before it began does not count"
    );
    assert!(call(&pool, "echo", json!(1)).is_ok());
    pool.close_blocking(Some(PATIENCE));
}
