//! Stats tell what was done, function by function, and the most that there was at once.

mod support;

use ganger::stats::FunctionStats;
use serde_json::json;
use support::{PATIENCE, call, call_with, outcome, pool, submit, until};

#[test]
fn every_call_is_counted_with_its_function() {
    let pool = pool(json!({ "max_queue": 2 }));
    assert!(call(&pool, "echo", json!(1)).is_ok());
    let running = submit(&pool, "nap", json!(60), json!({}));
    until("it runs", || pool.stats().running == 1);
    let waiting = [submit(&pool, "echo", json!(2), json!({})), submit(&pool, "echo", json!(3), json!({}))];
    assert!(call(&pool, "echo", json!(4)).is_err(), "the queue is full");
    let id = pool.calls().iter().find(|call| call.r#fn == "nap").unwrap().id;
    pool.cancel(ganger::CallId(id));
    assert!(outcome(&running).is_err());
    assert!(waiting.iter().all(|call| outcome(call).is_ok()));
    assert!(call_with(&pool, "leave", json!("1"), json!({})).is_err());
    assert!(call(&pool, "no_such", json!({})).is_err());

    let stats = pool.stats();
    let counts = |stats: &FunctionStats| {
        (stats.r#fn.clone(), [stats.submitted, stats.completed, stats.failed, stats.cancelled])
    };
    assert_eq!(
        stats.functions.iter().map(counts).collect::<Vec<_>>(),
        [
            ("echo".into(), [4, 3, 1, 0]),
            ("leave".into(), [1, 0, 1, 0]),
            ("nap".into(), [1, 0, 0, 1]),
            ("no_such".into(), [1, 0, 1, 0]),
        ]
    );
    assert_eq!([stats.submitted, stats.completed, stats.failed, stats.cancelled], [7, 3, 3, 1]);
    assert_eq!((stats.peak.queued, stats.peak.workers), (2, 1));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn the_peak_stays_when_workers_are_gone() {
    let pool = pool(json!({ "workers": 3, "idle_timeout": "100ms", "devices": ["a", "b", "c"] }));
    let calls: Vec<_> = (0..5).map(|_| submit(&pool, "nap", json!(0.2), json!({}))).collect();
    until("three are ready", || pool.stats().ready == 3);
    let mut devices: Vec<_> = pool.stats().details.into_iter().filter_map(|worker| worker.device).collect();
    devices.sort();
    assert_eq!(devices, ["a", "b", "c"]);
    assert!(calls.iter().all(|call| outcome(call).is_ok()));
    until("all have left", || pool.stats().workers == 0);
    assert_eq!((pool.stats().peak.workers, pool.stats().peak.queued), (3, 5));
    pool.close_blocking(Some(PATIENCE));
}
