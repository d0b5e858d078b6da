//! Threads that wait for their calls read for everyone meanwhile, and nothing is left unread once they have something else to do.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use support::{PATIENCE, call, integer, outcome, pool, submit, text, until};

#[test]
fn what_comes_while_nobody_waits_is_read_all_the_same() {
    let pool = pool(json!({ "workers": 2 }));
    for round in 0..30 {
        // A thread has read and gone: the next answers come to nobody.
        assert_eq!(integer(call(&pool, "echo", json!(round))), round);
        let later: Vec<_> =
            (0..4).map(|nth| submit(&pool, "echo", json!(round * 4 + nth), json!({}))).collect();
        for (nth, later) in (0..).zip(&later) {
            assert_eq!(integer(outcome(later)), round * 4 + nth);
        }
    }
}

#[test]
fn many_threads_that_wait_each_get_their_own_answer() {
    const CALLS: i64 = 100;
    let pool = pool(json!({ "workers": 2, "concurrency": 2 }));
    thread::scope(|scope| {
        for which in 0..8_i64 {
            let pool = &pool;
            scope.spawn(move || {
                for nth in 0..CALLS {
                    let asked = which * CALLS + nth;
                    assert_eq!(integer(call(pool, "echo", json!(asked))), asked);
                    if nth % 10 == 0 {
                        assert_eq!(integer(outcome(&submit(pool, "echo", json!(-asked), json!({})))), -asked);
                    }
                }
            });
        }
    });
    assert_eq!(pool.stats().running, 0);
}

#[test]
fn one_that_waits_long_reads_for_those_that_do_not() {
    let pool = pool(json!({ "workers": 2 }));
    let quick = AtomicUsize::new(0);
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let slept = text(call(&pool, "sleep", json!(2.0)));
            (slept, quick.load(Ordering::SeqCst))
        });
        until("the slow one runs", || pool.stats().running == 1);
        for nth in 0..50 {
            assert_eq!(integer(call(&pool, "echo", json!(nth))), nth);
            quick.fetch_add(1, Ordering::SeqCst);
        }
        assert_eq!(slow.join().expect("it got its answer"), ("slept".to_owned(), 50));
    });
    // Whoever leaves after so long leaves everything to the pool's own thread.
    assert_eq!(integer(outcome(&submit(&pool, "echo", json!(7), json!({})))), 7);
}

#[test]
fn a_loop_that_looks_in_without_making_calls_takes_no_answer_with_it() {
    let pool = pool(json!({ "workers": 2 }));
    assert_eq!(integer(outcome(&submit(&pool, "echo", json!(0), json!({})))), 0);
    let over = Arc::new(AtomicBool::new(false));
    let (seat, looks) = (pool.loop_seat(), Arc::clone(&over));
    let looker = thread::spawn(move || {
        while !looks.load(Ordering::Relaxed) {
            seat.read();
        }
    });
    for nth in 0..3_000 {
        assert_eq!(integer(outcome(&submit(&pool, "echo", json!(nth), json!({})))), nth);
    }
    over.store(true, Ordering::Relaxed);
    looker.join().expect("it only looked");
}

#[test]
fn one_that_reads_hears_of_what_others_decide() {
    let pool = pool(json!({ "workers": 1 }));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&pool, "sleep", json!(60.0)));
        until("it runs", || pool.stats().running == 1);
        thread::sleep(Duration::from_millis(50));
        let pool = pool.clone();
        pool.terminate(Box::new(|| {}));
        assert_eq!(support::code(waiting.join().expect("it was told")), "POOL_CLOSED");
    });
}

/// Not even one whose workers are watched for their memory.
#[cfg(target_os = "linux")]
#[test]
fn a_pool_that_is_idle_wakes_nobody() {
    let pool = pool(json!({ "workers": 2, "max_memory": "4gb" }));
    for nth in 0..20 {
        assert_eq!(integer(call(&pool, "echo", json!(nth))), nth);
    }
    let begun = std::time::Instant::now();
    // The moment after the last call has its wake-ups; other tests here have theirs.
    while begun.elapsed() < PATIENCE {
        let before = wake_ups();
        // More than between two looks at the memory.
        thread::sleep(Duration::from_millis(2500));
        if wake_ups() == before {
            return;
        }
    }
    panic!("the pool's thread never rests");
}

/// How often the IO thread of this process has gone to sleep.
#[cfg(target_os = "linux")]
fn wake_ups() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux").flatten();
    let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let io_threads = statuses.filter(|status| status.lines().next() == Some("Name:\tganger"));
    let switches = io_threads.flat_map(|status| {
        status.lines().filter(|line| line.starts_with("voluntary")).map(str::to_owned).collect::<Vec<_>>()
    });
    switches.collect()
}
