//! Gigabytes through streams: nobody stands still for good, nobody else waits, and memory stays what the windows allow. `GANGER_CHAOS=long`
//! sends a gigabyte each way, else a part of it.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ganger::{Inputs, Pool, Stream};
use serde_json::{Value, json};
use support::streams::{blob, both_ways, items, made, numbers, send, stream, taken, value};
use support::{PATIENCE, call, integer, pids, rust_pool, until};

const MIB: usize = 1 << 20;
/// A window of bytes, an item beyond it, blocks on their way back, and what an allocator keeps.
const SOME_WINDOWS: usize = 64 * MIB;

/// One after the other: each looks at the memory of this process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Items of a mebibyte each way.
fn many() -> usize {
    if std::env::var_os("GANGER_CHAOS").is_some_and(|form| form == "long") { 1024 } else { 96 }
}

/// Resident bytes of this process, shared memory included.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// With shared memory, and with all bytes through the socket.
fn each_carrier(options: &Value, scene: impl Fn(&Pool)) {
    let _alone = alone();
    for shared_memory in ["256mib", "0mb"] {
        let mut all = options.clone();
        all["shared_memory"] = json!(shared_memory);
        let pool = rust_pool(all);
        scene(&pool);
        pool.close_blocking(Some(PATIENCE));
    }
}

#[test]
fn a_slow_reader_holds_the_producer_and_memory_stays_flat() {
    each_carrier(&json!({ "concurrency": 2 }), |pool| {
        let stream = stream(pool, "blobs", json!({ "count": many(), "bytes": MIB }));
        let mut produced = 0;
        until("a window of four mebibytes is made, and one that waits", || {
            produced += made(pool);
            produced >= 5
        });
        let mut most = 0;
        let mut begun = 0;
        let mut end = None;
        for taken_before in 0..many() {
            let mut batch = taken(&stream, 1);
            let item = batch.items.remove(0);
            end = batch.end;
            let expected = taken_before.to_le_bytes()[0];
            assert!(item.payload.len() == MIB && item.payload.iter().all(|byte| *byte == expected));
            drop(item);
            produced += made(pool);
            assert!(produced <= taken_before + 1 + 5, "{produced} made, {taken_before} taken before");
            begun = if taken_before == 8 { resident() } else { begun };
            most = most.max(resident());
        }
        assert!(most - begun < SOME_WINDOWS, "from {begun} to {most} bytes");
        // It comes with the last item if it is there by then.
        assert!(end.or_else(|| taken(&stream, 1).end).unwrap().is_ok());
    });
}

#[test]
fn floods_go_both_ways_at_once_even_where_one_call_runs_at_a_time() {
    each_carrier(&json!({ "concurrency": 1 }), |pool| {
        let (stream, inputs) = both_ways(pool, "mirror_blobs", json!(null));
        let sent = std::thread::scope(|scope| {
            let sender = scope.spawn(|| flood(&inputs, || true));
            let came = drain(&stream);
            assert_eq!(came, sender.join().unwrap());
            came
        });
        assert_eq!(sent, many());
    });
}

#[test]
fn calls_and_cancels_go_on_beside_floods() {
    each_carrier(&json!({ "concurrency": 4 }), |pool| {
        let (floods, inputs) = both_ways(pool, "mirror_blobs", json!(null));
        let (seen, came) = (AtomicBool::new(false), AtomicUsize::new(0));
        let begun = resident();
        std::thread::scope(|scope| {
            // It goes on until all has been seen beside it.
            let sender = scope.spawn(|| flood(&inputs, || seen.load(Ordering::SeqCst)));
            let reader = scope.spawn(|| came.store(drain(&floods), Ordering::SeqCst));
            for number in 0..50 {
                assert_eq!(integer(call(pool, "echo", json!(number))), number);
            }
            let pid = pids(pool);
            for _ in 0..5 {
                let beside = stream(pool, "numbers", json!(1_000_000));
                assert_eq!(items(&beside, 3), numbers(0..3));
                drop(beside);
                until("its slot is free", || pool.stats().running == 1);
            }
            assert_eq!(pids(pool), pid, "each was asked in time");
            assert!(!floods.is_over());
            seen.store(true, Ordering::SeqCst);
            let sent = sender.join().unwrap();
            reader.join().unwrap();
            assert_eq!(sent, came.load(Ordering::SeqCst));
        });
        // Up to four windows each way, in shared memory or not.
        assert!(resident() < begun + 2 * SOME_WINDOWS, "from {begun} to {} bytes", resident());
    });
}

/// Sends many items, and more until it may stop. Says how many.
fn flood(inputs: &Inputs, may_stop: impl Fn() -> bool) -> usize {
    let mut sent = 0;
    while sent < many() || !may_stop() {
        send(inputs, blob(vec![sent.to_le_bytes()[0]; MIB]));
        sent += 1;
    }
    inputs.finish();
    sent
}

/// Takes all of them; says how many came, each as it was sent.
fn drain(stream: &Stream) -> usize {
    let mut came = 0_usize;
    loop {
        let batch = taken(stream, 4);
        for item in batch.items {
            let expected = came.to_le_bytes()[0];
            assert!(item.payload.len() == MIB && item.payload.iter().all(|byte| *byte == expected));
            came += 1;
        }
        if let Some(end) = batch.end {
            assert_eq!(value(&end.unwrap()), json!(came * MIB));
            return came;
        }
    }
}
