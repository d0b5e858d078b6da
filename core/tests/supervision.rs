//! Workers are replaced before they hurt, watched while they idle, and warmed, reloaded and asked all together.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ganger::Pool;
use ganger::events::{Event, ExitReason, RecycleReason};
use serde_json::{Value, json};
use support::{
    PATIENCE, asked, call, call_with, code, events, integer, kill, made, outcome, pids, runs, submit, text,
    until,
};

fn heavy(options: Value) -> Pool {
    support::pool_of("heavy.py", options)
}

fn warm(pool: &Pool, workers: u32) {
    let (sender, receiver) = channel();
    pool.warm(workers, Box::new(move |verdict| sender.send(verdict.is_ok()).expect("it is waited for")));
    assert!(receiver.recv_timeout(PATIENCE).expect("a pool is warm or says why not"));
}

#[test]
fn a_worker_is_replaced_warm_and_nobody_waits_for_the_load() {
    let pool = heavy(json!({ "max_calls": 20, "env": { "LOAD_SECONDS": "1" } }));
    let heard = events(&pool);
    assert!(call(&pool, "pid", json!({})).is_ok());
    let mut served = BTreeMap::<i64, u32>::new();
    let begun = Instant::now();
    while served.len() < 3 {
        *served.entry(integer(call(&pool, "pid", json!({})))).or_default() += 1;
        assert!(begun.elapsed() < PATIENCE, "replaced {} times only", served.len() - 1);
        std::thread::sleep(Duration::from_millis(20));
    }
    // Calls that had waited for a load would have left each old worker with those up to its limit, which is 22 at most.
    let retired = served.values().filter(|calls| **calls > 30).count();
    assert_eq!(retired, 2, "old workers serve while their replacements load: {served:?}");
    until("one worker is left", || pool.stats().workers == 1);
    assert!(pool.stats().recycled.calls >= 2);
    assert_eq!(pool.stats().crashed, 0);
    pool.close_blocking(Some(PATIENCE));
    assert!(pool.flush_events(PATIENCE));
    let heard = heard.lock().unwrap();
    // Known before the first look at all workers, or nobody could tell whether two of them fit.
    let recycled = heard.iter().any(|event| {
        matches!(event, Event::WorkerRecycle(recycle)
            if recycle.reason == RecycleReason::Calls && !recycle.cold)
    });
    let unknown =
        heard.iter().any(|event| matches!(event, Event::WorkerRecycle(recycle) if recycle.memory.is_none()));
    let left = heard
        .iter()
        .any(|event| matches!(event, Event::WorkerExit(exit) if exit.reason == ExitReason::Recycled));
    assert!(recycled && left && !unknown);
}

#[test]
fn whoever_is_replaced_is_told_with_its_memory_however_young_and_whatever_for() {
    for (options, reason) in
        [(json!({ "max_calls": 1 }), RecycleReason::Calls), (json!({}), RecycleReason::Reload)]
    {
        let pool = heavy(options);
        let heard = events(&pool);
        assert!(call(&pool, "pid", json!({})).is_ok());
        if reason == RecycleReason::Reload {
            pool.reload();
        }
        until("it is replaced", || {
            let heard = heard.lock().unwrap();
            heard.iter().any(|event| matches!(event, Event::WorkerRecycle(told) if told.reason == reason))
        });
        pool.close_blocking(Some(PATIENCE));
        let heard = heard.lock().unwrap();
        let memories = heard.iter().filter_map(|event| {
            if let Event::WorkerRecycle(told) = event { Some(told.memory) } else { None }
        });
        assert!(memories.clone().all(|memory| memory.is_some_and(|bytes| bytes > 1_000_000)), "{reason:?}");
    }
}

#[test]
fn a_leaking_worker_is_replaced_for_its_memory() {
    let pool = heavy(json!({ "max_memory": "150mb" }));
    let first = integer(call(&pool, "leak", json!(10)));
    let mut megabytes = 10;
    until("it was replaced", || {
        megabytes += 5;
        assert!(megabytes < 5_000, "it leaks and leaks");
        std::thread::sleep(Duration::from_millis(20));
        integer(call(&pool, "leak", json!(5))) != first
    });
    assert!(pool.stats().recycled.memory >= 1);
    assert_eq!((pool.stats().crashed, pool.stats().failed), (0, 0));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_stopped_idle_worker_is_found_and_replaced() {
    let pool = heavy(json!({ "health_interval": "100ms", "health_timeout": "300ms" }));
    let heard = events(&pool);
    let pid = u32::try_from(integer(call(&pool, "pid", json!({})))).unwrap();
    kill(pid, "STOP");
    until("a replacement is ready", || pids(&pool).first().is_some_and(|next| *next != pid));
    until("the stopped one is gone", || !runs(pid));
    assert_eq!(pool.stats().unresponsive, 1);
    assert!(call(&pool, "pid", json!({})).is_ok());
    assert!(pool.flush_events(PATIENCE));
    assert!(heard.lock().unwrap().iter().any(|event| matches!(event, Event::WorkerUnresponsive(_))));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_busy_worker_is_never_asked() {
    let pool = heavy(json!({ "health_interval": "50ms", "health_timeout": "50ms" }));
    let pid = integer(call(&pool, "pid", json!({})));
    assert_eq!(integer(call(&pool, "nap", json!(1.0))), pid);
    assert_eq!(pool.stats().unresponsive, 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn idle_workers_go_down_to_the_fewest() {
    let pool = heavy(json!({ "workers": 3, "min_workers": 1, "idle_timeout": "200ms" }));
    until("the fewest have started", || pids(&pool).len() == 1);
    let calls: Vec<_> = (0..3).map(|_| submit(&pool, "nap", json!(0.3), json!({}))).collect();
    calls.iter().for_each(|call| drop(outcome(call).unwrap()));
    assert!(pool.stats().workers > 1);
    until("the others are gone", || pool.stats().workers == 1);
    assert!(call(&pool, "pid", json!({})).is_ok());
    assert_eq!(pool.stats().crashed, 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn changed_code_is_loaded_and_bad_code_keeps_the_old_workers() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("version.py");
    let write = |body: &str| {
        std::fs::write(
            &file,
            format!("from ganger_worker import action\n@action\ndef version():\n    {body}\n"),
        )
        .unwrap();
    };
    write("return 1");
    let pool = made(&json!({ "python": file, "workers": 2, "watch": true }));
    let heard = events(&pool);
    let version = |pool: &Pool| integer(call(pool, "version", json!({})));
    assert_eq!(version(&pool), 1);
    write("return (");
    until("the bad code was tried", || {
        assert_eq!(version(&pool), 1, "the old worker serves on");
        heard
            .lock()
            .unwrap()
            .iter()
            .any(|event| matches!(event, Event::WorkerExit(exit) if exit.reason == ExitReason::StartFailed))
    });
    write("return 2");
    until("the new code serves", || version(&pool) == 2);
    assert_eq!((pool.stats().failed, pool.stats().crashed), (0, 0));
    assert!(pool.stats().recycled.reload >= 1);
    let named = heard.lock().unwrap().iter().any(|event| {
        matches!(event, Event::Reload(reload) if reload.files.iter().any(|name| name.ends_with("version.py")))
    });
    assert!(named);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn warm_workers_are_all_asked_by_a_broadcast() {
    let pool = heavy(json!({ "workers": 3 }));
    let (sender, receiver) = channel();
    pool.broadcast(&asked("pid", &json!({}), &json!({})), Box::new(move |all| sender.send(all).unwrap()));
    assert!(receiver.recv_timeout(PATIENCE).unwrap().is_empty(), "none is ready");

    warm(&pool, 3);
    let (sender, receiver) = channel();
    pool.broadcast(&asked("pid", &json!({}), &json!({})), Box::new(move |all| sender.send(all).unwrap()));
    let all = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(all.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [0, 1, 2]);
    let asked: BTreeSet<i64> = all.into_iter().map(|(_, outcome)| integer(outcome)).collect();
    assert_eq!(asked.len(), 3);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_broadcast_that_is_given_up_is_settled_at_once_on_every_worker() {
    let pool = heavy(json!({ "workers": 2, "cancel_grace": "200ms" }));
    warm(&pool, 2);
    let (sender, receiver) = channel();
    let asked = asked("nap", &json!(1000.0), &json!({}));
    let calls = pool.broadcast(&asked, Box::new(move |all| sender.send(all).unwrap()));
    assert_eq!(calls.len(), 2);
    pool.cancel_all(&calls);
    let all = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(all.into_iter().map(|(_, outcome)| code(outcome)).collect::<Vec<_>>(), ["CANCELLED"; 2]);
    until("both take calls again", || pool.stats().ready == 2 && pool.stats().busy == 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn who_stops_waiting_is_forgotten() {
    let pool = heavy(json!({}));
    let nap = submit(&pool, "nap", json!(0.2), json!({}));
    let (sender, receiver) = channel();
    let wait = pool.drained(Box::new(move |verdict| sender.send(verdict.is_ok()).unwrap())).unwrap();
    pool.stop_waiting(wait);
    assert!(receiver.recv_timeout(PATIENCE).is_err(), "what it held is let go of, untold");
    assert!(outcome(&nap).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_worker_asked_for_waits_for_the_others_though_it_has_nothing_to_do() {
    let pool = heavy(
        json!({ "workers": 2, "min_workers": 1, "idle_timeout": "50ms", "env": { "LOAD_SECONDS": "0.5" } }),
    );
    let first = integer(call(&pool, "pid", json!({})));
    warm(&pool, 2);
    assert!(pids(&pool).contains(&u32::try_from(first).unwrap()));
    until("one is left", || pool.stats().workers == 1);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_call_may_wait_for_room_and_apps_for_the_end_of_all() {
    let pool = heavy(json!({ "max_queue": 1, "when_full": "wait" }));
    assert!(call(&pool, "pid", json!({})).is_ok());
    let calls: Vec<_> = (0..5).map(|_| submit(&pool, "nap", json!(0.05), json!({}))).collect();
    let (sender, receiver) = channel();
    pool.drained(Box::new(move |verdict| sender.send(verdict.is_ok()).unwrap()));
    assert!(receiver.recv_timeout(PATIENCE).unwrap());
    assert!(calls.iter().all(|call| outcome(call).is_ok()));
    let (sender, receiver) = channel();
    pool.ready(Box::new(move |verdict| sender.send(verdict.is_ok()).unwrap()));
    assert!(receiver.recv_timeout(PATIENCE).unwrap());
    pool.close_blocking(Some(PATIENCE));

    let pool = heavy(json!({ "max_queue": 1, "when_full": "wait", "full_timeout": "100ms" }));
    assert!(call(&pool, "pid", json!({})).is_ok());
    let calls: Vec<_> = (0..3).map(|_| submit(&pool, "nap", json!(1.0), json!({}))).collect();
    assert_eq!(code(outcome(&calls[2])), "QUEUE_FULL");
    pool.terminate_blocking();
}

#[test]
fn a_function_says_itself_that_it_may_run_again() {
    let directory = tempfile::tempdir().unwrap();
    for (name, warm) in [("cold", false), ("warm", true)] {
        let pool = heavy(json!({}));
        if warm {
            assert!(call(&pool, "pid", json!({})).is_ok());
        }
        let path = directory.path().join(name);
        let reply = call(&pool, "flaky", json!(path)).unwrap();
        assert_eq!(reply.attempts, 2, "{name}");
        let again = directory.path().join(format!("{name} again"));
        let error = call_with(&pool, "flaky", json!(again), json!({ "idempotent": false })).unwrap_err();
        assert_eq!(error.attempts, 1, "the call knows better");
        pool.close_blocking(Some(PATIENCE));
    }
}

#[test]
fn each_worker_has_a_device_of_its_own_and_few_threads() {
    let pool = heavy(json!({ "workers": null, "devices": ["cuda:0", "cuda:1"], "inner_threads": 2 }));
    warm(&pool, 2);
    for reloads in [2, 4] {
        let (sender, receiver) = channel();
        pool.broadcast(
            &asked("device", &json!({}), &json!({})),
            Box::new(move |all| sender.send(all).unwrap()),
        );
        let all = receiver.recv_timeout(PATIENCE).unwrap();
        let devices: BTreeSet<String> = all.into_iter().map(|(_, outcome)| text(outcome)).collect();
        assert_eq!(devices.into_iter().collect::<Vec<_>>(), ["cuda:0 cuda:0", "cuda:1 cuda:1"]);
        pool.reload();
        until("both were replaced", || pool.stats().recycled.reload == reloads && pool.stats().workers == 2);
    }
    assert_eq!(text(call(&pool, "threads", json!({}))), "2");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_limit_below_what_a_worker_begins_with_is_told_once_and_given_up() {
    let pool = heavy(json!({ "max_memory": "2mb" }));
    let heard = events(&pool);
    let first = integer(call(&pool, "pid", json!({})));
    until("it was told", || heard.lock().unwrap().iter().any(|event| matches!(event, Event::Warning(_))));
    for _ in 0..20 {
        assert_eq!(integer(call(&pool, "nap", json!(0.1))), first, "replacing it would never end");
    }
    let warnings = heard.lock().unwrap().iter().filter(|event| matches!(event, Event::Warning(_))).count();
    assert_eq!((warnings, pool.stats().recycled.memory), (1, 0));
    pool.close_blocking(Some(PATIENCE));
}
