//! Calls lie ready before busy workers, in real sockets with real tokens: each runs once, none is lost, and nobody waits for a slow one.
#![cfg(all(target_os = "linux", feature = "linux-extras"))]
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, channel};

use ganger::error::Started;
use ganger::{CallId, Outcome, Pool};
use serde_json::{Value, json};
use support::{asked, call, code, integer, kill, outcome, pids, pool, pool_of, submit, until};

/// A number that the pool counts.
fn counted(pool: &Pool, name: &str) -> u64 {
    let record = pool.flight_record();
    let counts = record.lines().last().unwrap();
    let count = counts.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    count.unwrap_or_else(|| panic!("no {name} in {counts}")).parse().unwrap()
}

fn submit_many(
    pool: &Pool,
    function: &str,
    count: i64,
    input: impl Fn(i64) -> Value,
) -> Vec<Receiver<Outcome>> {
    (0..count).map(|nth| submit(pool, function, input(nth), json!({}))).collect()
}

/// Every function of the worker has been called, and its worker was quick.
fn warmed(pool: &Pool) {
    for nth in 0..20 {
        assert_eq!(integer(call(pool, "echo", json!(nth))), nth);
    }
}

#[test]
fn a_burst_lies_before_its_workers_and_every_call_gets_its_own_answer() {
    for file in ["deeds.py", "quick.mjs"] {
        let pool = pool_in(file, 2);
        warmed(&pool);
        let calls = submit_many(&pool, "echo", 5_000, |nth| json!(nth));
        for (nth, receiver) in (0..).zip(&calls) {
            assert_eq!(integer(outcome(receiver)), nth);
        }
        let laid = counted(&pool, "handed_ahead");
        assert!(laid > 500, "{file}: {laid} of 5,000 lay ready");
        let stats = pool.stats();
        assert_eq!((stats.completed, stats.running, stats.queued), (5_020, 0, 0));
    }
}

#[test]
fn what_lies_behind_a_slow_call_runs_elsewhere() {
    let pool = pool(json!({ "workers": 2 }));
    warmed(&pool);
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let gate = folder.path().join(round.to_string());
        let slow = submit(&pool, "hold", json!(gate), json!({}));
        // None of them is answered if it waits for the one that ends after them.
        let quick = submit_many(&pool, "echo", 60, |nth| json!(nth));
        for (nth, receiver) in (0..).zip(&quick) {
            assert_eq!(integer(outcome(receiver)), nth);
        }
        std::fs::write(gate, "").unwrap();
        outcome(&slow).unwrap();
    }
}

#[test]
fn a_worker_that_dies_loses_the_call_it_ran_and_no_other() {
    for file in ["deeds.py", "quick.mjs"] {
        let pool = pool_in(file, 1);
        for round in 0..10 {
            warmed(&pool);
            let before = submit_many(&pool, "echo", 5, |nth| json!(nth));
            let killer = submit(&pool, "leave", json!("3"), json!({}));
            let behind = submit_many(&pool, "echo", 10, |nth| json!(nth));
            for (nth, receiver) in (0..).zip(&before) {
                assert_eq!(integer(outcome(receiver)), nth, "{file}, round {round}");
            }
            assert_eq!(code(outcome(&killer)), "WORKER_CRASHED");
            for (nth, receiver) in (0..).zip(&behind) {
                assert_eq!(integer(outcome(receiver)), nth, "{file}, round {round}");
            }
        }
        assert_eq!(pool.stats().crashed, 10);
    }
}

#[test]
fn a_stopped_worker_keeps_nothing_that_only_lies_before_it() {
    let pool = pool(json!({ "workers": 2, "min_workers": 2 }));
    until("both serve", || {
        warmed(&pool);
        pids(&pool).len() == 2
    });
    let stopped = pids(&pool)[0];
    kill(stopped, "STOP");
    let calls = submit_many(&pool, "echo", 200, |nth| json!(nth));
    until("all are answered but one", || pool.stats().running + pool.stats().queued == 1);
    kill(stopped, "CONT");
    for (nth, receiver) in (0..).zip(&calls) {
        assert_eq!(integer(outcome(receiver)), nth);
    }
}

#[test]
fn killed_from_outside_amid_a_flood_a_worker_costs_one_call_at_most() {
    const KILLS: usize = 8;
    let pool = pool(json!({ "workers": 2, "min_workers": 2 }));
    warmed(&pool);
    let mut lost = 0;
    for _ in 0..KILLS {
        until("both serve", || pids(&pool).len() == 2);
        let calls = submit_many(&pool, "echo", 2_000, |nth| json!(nth));
        kill(pids(&pool)[0], "KILL");
        for (nth, receiver) in (0..).zip(&calls) {
            match outcome(receiver) {
                Ok(reply) => assert_eq!(integer(Ok(reply)), nth),
                Err(error) => {
                    assert_eq!(error.code.to_string(), "WORKER_CRASHED");
                    lost += 1;
                }
            }
        }
    }
    assert!(lost <= KILLS, "{lost} calls lost with {KILLS} workers");
}

#[test]
fn cancelled_where_they_lie_calls_never_run() {
    let pool = pool_in("quick.mjs", 1);
    warmed(&pool);
    for _ in 0..50 {
        let before = integer(call(&pool, "ran", json!(null)));
        let all: Vec<(CallId, Receiver<Outcome>)> = (0..12).map(|_| submit_count(&pool)).collect();
        for (id, _) in all.iter().rev().step_by(2) {
            pool.cancel(*id);
        }
        let mut ends: HashMap<bool, i64> = HashMap::new();
        let mut begun = 0;
        for (_, receiver) in &all {
            match outcome(receiver) {
                Ok(_) => *ends.entry(true).or_default() += 1,
                Err(error) => {
                    assert_eq!(error.code.to_string(), "CANCELLED");
                    begun += i64::from(error.started != Started::No);
                    *ends.entry(false).or_default() += 1;
                }
            }
        }
        let ran = integer(call(&pool, "ran", json!(null))) - before;
        let answered = ends.get(&true).copied().unwrap_or_default();
        assert!(
            (answered..=answered + begun).contains(&ran),
            "{ran} ran, {answered} answered, {begun} may have begun"
        );
    }
}

#[test]
fn a_pool_that_closes_amid_a_burst_answers_all_of_it() {
    let pool = pool(json!({ "workers": 2 }));
    warmed(&pool);
    let calls = submit_many(&pool, "echo", 300, |nth| json!(nth));
    pool.close_blocking(None);
    for (nth, receiver) in (0..).zip(&calls) {
        assert_eq!(integer(outcome(receiver)), nth);
    }
}

/// Rust's and Go's SDK, and the host of WebAssembly; whichever were built.
#[test]
fn calls_lie_before_compiled_workers_too() {
    let built = support::programs();
    let plugin = format!("{}/../tests/behavior/workers/wasm/plugin.wat", env!("CARGO_MANIFEST_DIR"));
    let command = |program: &str, more: &[&str]| {
        let program = built.join(program);
        let argv = std::iter::once(program.to_str().unwrap()).chain(more.iter().copied());
        program.is_file().then(|| argv.map(str::to_owned).collect::<Vec<_>>())
    };
    let all = [
        command("behavior-worker", &[]),
        command("../go/behavior-worker", &[]),
        command("ganger-wasm", &[&plugin]),
    ];
    assert!(all[0].is_some(), "build it first: cargo build -p behavior-worker");
    for argv in all.into_iter().flatten() {
        let pool = support::made(&json!({ "command": argv, "workers": 1 }));
        warmed(&pool);
        let calls = submit_many(&pool, "echo", 3_000, |nth| json!(nth));
        for (nth, receiver) in (0..).zip(&calls) {
            assert_eq!(integer(outcome(receiver)), nth, "{argv:?}");
        }
        let laid = counted(&pool, "handed_ahead");
        assert!(laid > 300, "{argv:?}: {laid} of 3,000 lay ready");
        if argv.len() > 1 {
            continue;
        }
        let killer = submit(&pool, "leave", json!(3), json!({}));
        let behind = submit_many(&pool, "echo", 10, |nth| json!(nth));
        assert_eq!(code(outcome(&killer)), "WORKER_CRASHED");
        for (nth, receiver) in (0..).zip(&behind) {
            assert_eq!(integer(outcome(receiver)), nth, "{argv:?}");
        }
    }
}

fn submit_count(pool: &Pool) -> (CallId, Receiver<Outcome>) {
    let (sender, receiver) = channel();
    let call = asked("count", &json!(null), &json!({}));
    let id = pool.submit(call, Box::new(move |outcome| sender.send(outcome).unwrap()));
    (id.unwrap(), receiver)
}

fn pool_in(file: &str, workers: u32) -> Pool {
    if file.ends_with(".mjs") {
        return support::made(&json!({ "node": support::node_worker(file), "workers": workers }));
    }
    pool_of(file, json!({ "workers": workers }))
}
