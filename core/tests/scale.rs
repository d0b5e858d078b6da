//! Many calls that wait, many workers, many pools. Alone in its program, for it looks at the memory and the descriptors of the whole process.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "in a test a panic is the report, and figures are for the reader"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ganger::{CallId, Pool};
use serde_json::json;
use support::{PATIENCE, asked, call, integer, outcome, pids, pool, rust_pool, submit, until};

/// A million in the long form.
fn many_calls() -> usize {
    if std::env::var("GANGER_CHAOS").is_ok_and(|form| form == "long") { 1_000_000 } else { 100_000 }
}

/// Bytes for a call of a few bytes, waiting. What the app holds of it comes on top.
const MOST_BYTES_A_CALL: u64 = 1_500;

#[test]
fn the_scale_of_it() {
    calls_that_wait();
    workers_at_once();
    pools_at_once();
}

fn calls_that_wait() {
    let count = many_calls();
    let pool = pool(json!({ "workers": 1, "max_queue": count, "max_queue_bytes": "1gb" }));
    let gate = submit(&pool, "sleep", json!(600.0), json!({}));
    until("the worker is busy", || pool.stats().running == 1);
    let settled = Arc::new(AtomicUsize::new(0));
    let wait_in_line = || {
        let settled = Arc::clone(&settled);
        let done = Box::new(move |_| {
            settled.fetch_add(1, Ordering::Relaxed);
        });
        pool.submit(asked("echo", &json!(7), &json!({})), done).unwrap()
    };
    let before = resident_bytes();
    let calls: Vec<CallId> = (0..count).map(|_| wait_in_line()).collect();
    let each = resident_bytes().saturating_sub(before) / count as u64;
    println!("{count} calls wait: {each} bytes each");
    assert_eq!(pool.stats().queued, count as u64);
    assert!(each <= MOST_BYTES_A_CALL, "{each} bytes a call");

    let (given_up, left) = calls.split_at(count / 2);
    pool.cancel_all(given_up);
    assert_eq!((settled.load(Ordering::Relaxed), pool.stats().queued), (given_up.len(), left.len() as u64));
    pool.terminate_blocking();
    assert_eq!(settled.load(Ordering::Relaxed), count);
    assert!(outcome(&gate).is_err());
}

fn workers_at_once() {
    const WORKERS: usize = 64;
    let pool = rust_pool(json!({ "workers": WORKERS, "min_workers": WORKERS }));
    until("all are ready", || pids(&pool).len() == WORKERS);
    let answers: Vec<_> = (0..1_000).map(|nth| submit(&pool, "echo", json!(nth), json!({}))).collect();
    for (nth, answer) in (0..).zip(&answers) {
        assert_eq!(integer(outcome(answer)), nth);
    }
    pool.close_blocking(Some(PATIENCE));
}

fn pools_at_once() {
    const POOLS: usize = 256;
    let pools: Vec<Pool> = (0..POOLS).map(|_| rust_pool(json!({ "workers": 1 }))).collect();
    let answers: Vec<_> =
        (0..).zip(&pools).map(|(nth, pool)| submit(pool, "echo", json!(nth), json!({}))).collect();
    for (nth, answer) in (0..).zip(&answers) {
        assert_eq!(integer(outcome(answer)), nth);
    }
    // Each has a worker of its own, and every thread that waits reads its own pool's lanes.
    for (nth, pool) in (0..).zip(&pools) {
        assert_eq!(integer(call(pool, "echo", json!(-nth))), -nth);
    }
    assert!(threads() < 64, "{} threads for {POOLS} pools", threads());
    for pool in &pools {
        pool.terminate_blocking();
    }
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}
