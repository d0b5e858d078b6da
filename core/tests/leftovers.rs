//! Nothing is left of workers and pools, however they ended: no process, no descriptor, no mapping, no file. Alone in its program, for it
//! counts what the whole process has.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use ganger::{Pool, SHARED_MEMORY_THRESHOLD};
use serde_json::json;
use support::{PATIENCE, call, call_with, code, deeds, kill, made, outcome, pids, pool, submit, until};

const ROUNDS: usize = 2;

#[test]
fn whatever_ended_them_nothing_is_left() {
    let scenes: [(&str, fn()); 7] = [
        ("deaths at work", deaths_at_work),
        ("deaths while idle", deaths_while_idle),
        ("kills by the pool", kills_by_the_pool),
        ("failed starts", failed_starts),
        ("large payloads under way", large_payloads_under_way),
        ("pools that are dropped", pools_that_are_dropped),
        ("workers that attach", workers_that_attach),
    ];
    // What lives as long as the process comes with the first use: runtime, spawner, reaper.
    deaths_while_idle();
    until("no process is left", || children().is_empty());
    let (descriptors, mappings) = (settled(), arenas());
    for (name, scene) in scenes {
        for _ in 0..ROUNDS {
            scene();
        }
        until(&format!("{name}: no process is left"), || children().is_empty());
        until(&format!("{name}: no more than {descriptors:?} is open"), || {
            open_descriptors().values().sum::<usize>() <= descriptors.values().sum()
        });
        until(&format!("{name}: {mappings} arenas are mapped again"), || arenas() <= mappings);
    }
}

/// What is open once nothing more is being closed.
fn settled() -> BTreeMap<String, usize> {
    let (mut seen, mut times) = (open_descriptors(), 0);
    until("descriptors stay the same", || {
        let now = open_descriptors();
        times = if now == seen { times + 1 } else { 0 };
        seen = now;
        times == 50
    });
    seen
}

fn deaths_at_work() {
    let pool = pool(json!({ "workers": 2, "concurrency": 2 }));
    for how in ["0", "3", "SIGKILL", "abort"] {
        let neighbour = submit(&pool, "nap", json!(0.01), json!({ "idempotent": true, "retries": 9 }));
        assert_eq!(code(call(&pool, "leave", json!(how))), "WORKER_CRASHED");
        assert!(outcome(&neighbour).is_ok());
    }
    assert!(call(&pool, "grandchild", json!({})).is_ok());
    assert_eq!(code(call(&pool, "leave", json!("SIGKILL"))), "WORKER_CRASHED");
    pool.close_blocking(Some(PATIENCE));
}

fn deaths_while_idle() {
    let pool = pool(json!({ "min_workers": 1 }));
    until("it has started", || !pids(&pool).is_empty());
    let pid = pids(&pool)[0];
    kill(pid, "KILL");
    until("a replacement is ready", || pids(&pool).first().is_some_and(|next| *next != pid));
    pool.close_blocking(Some(PATIENCE));
}

fn kills_by_the_pool() {
    let pool = pool(json!({ "cancel_grace": "10ms" }));
    assert_eq!(code(call_with(&pool, "stubborn", json!({}), json!({ "timeout": "50ms" }))), "TIMEOUT");
    let stubborn = submit(&pool, "stubborn", json!({}), json!({}));
    until("it runs", || pool.stats().running == 1);
    pool.terminate_blocking();
    assert_eq!(code(outcome(&stubborn)), "POOL_CLOSED");
}

fn failed_starts() {
    for options in [
        json!({ "command": ["/no/such/worker"], "workers": 1 }),
        json!({ "python": deeds(), "workers": 1, "env": { "DIE_AT_IMPORT": "SIGABRT" } }),
        json!({ "python": deeds(), "workers": 1, "memory_limit": "2mb" }),
    ] {
        let pool = made(&options);
        assert_eq!(code(call(&pool, "echo", json!(1))), "START_FAILED");
        pool.terminate_blocking();
    }
}

fn large_payloads_under_way() {
    let large = "x".repeat(4 * SHARED_MEMORY_THRESHOLD);
    let pool = pool(json!({}));
    drop(call(&pool, "echo", json!(large)).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let held = submit(&pool, "hold", json!(gate), json!({}));
    let waiting = submit(&pool, "echo", json!(large), json!({}));
    // One that its worker had not read yet would go to the next.
    until("one has begun", || gate.with_extension("begun").exists());
    until("one waits", || pool.stats().queued == 1);
    kill(pids(&pool)[0], "KILL");
    assert_eq!(code(outcome(&held)), "WORKER_CRASHED");
    drop(outcome(&waiting).unwrap());
    pool.close_blocking(Some(PATIENCE));
}

fn pools_that_are_dropped() {
    let pool = pool(json!({ "workers": 2 }));
    let calls: Vec<_> = (0..4).map(|_| submit(&pool, "stubborn", json!({}), json!({}))).collect();
    until("two run", || pool.stats().running == 2);
    drop(pool);
    assert!(calls.iter().all(|call| code(outcome(call)) == "POOL_CLOSED"));
}

fn workers_that_attach() {
    let pool = pool(json!({ "workers": 0, "endpoint": true }));
    let directory = pool.invite().unwrap().address.parent().unwrap().to_path_buf();
    let mut worker = attached(&pool);
    assert_eq!(code(call(&pool, "leave", json!("SIGKILL"))), "WORKER_CRASHED");
    worker.wait().unwrap();
    let mut worker = attached(&pool);
    until("it has attached", || pids(&pool).len() == 1);
    pool.close_blocking(Some(PATIENCE));
    worker.wait().unwrap();
    drop(pool);
    assert!(!directory.exists(), "the endpoint leaves nothing behind");
}

fn attached(pool: &Pool) -> std::process::Child {
    let invitation = pool.invite().expect("it has an endpoint");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a repository");
    let mut command = Command::new("python3");
    command.arg(root.join("worker-sdk/python/ganger_worker_start.py")).arg(deeds());
    command.env("GANGER_ENDPOINT", &invitation.address).env("GANGER_TOKEN", &invitation.token);
    command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("there is a python3")
}

/// All of this process's but the reaper; zombies too.
fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").expect("this is Linux").flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<String> =
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    let is_reaper =
        |pid: &String| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0reap\0"));
    pids.into_iter().filter(|pid| !is_reaper(pid)).collect()
}

/// How many of each kind: `socket`, `pipe`, `/memfd`.
fn open_descriptors() -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for entry in fs::read_dir("/proc/self/fd").expect("this is Linux").flatten() {
        if let Ok(target) = fs::read_link(entry.path()) {
            let target = target.to_string_lossy();
            *kinds.entry(target.split(':').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    kinds
}

fn arenas() -> usize {
    fs::read_to_string("/proc/self/maps").expect("this is Linux").matches("/memfd:").count()
}
