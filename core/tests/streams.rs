//! Calls that answer with many values: order, backpressure, early leave, ends of every kind.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use ganger::error::{DeathCause, Started};
use ganger::{Call, Progress, ProgressObserver};
use serde_json::{Value, json};
use support::streams::{WINDOW, all, end, items, made, numbers, stream, stream_with, taken, value};
use support::{PATIENCE, asked, call, code, integer, outcome, pids, rust_pool, submit, until};

#[test]
fn items_come_in_order_and_then_the_end() {
    let pool = rust_pool(json!({}));
    let (values, end) = all(&stream(&pool, "count", json!(1000)));
    assert_eq!(values, numbers(0..1000));
    let end = end.unwrap();
    assert_eq!((value(&end), end.attempts), (Value::Null, 1));
    let (values, end) = all(&stream(&pool, "count", json!(0)));
    assert!(values.is_empty() && end.is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_function_of_one_value_has_no_items_and_its_value_is_the_end() {
    let pool = rust_pool(json!({}));
    assert_eq!(value(&end(&stream(&pool, "echo", json!([1, 2]))).unwrap()), json!([1, 2]));
    assert_eq!(code(end(&stream(&pool, "no_such", json!(1)))), "NO_SUCH_FUNCTION");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn who_leaves_early_frees_the_worker_which_is_no_further_than_the_window() {
    let pool = rust_pool(json!({}));
    let stream = stream(&pool, "numbers", json!(1_000_000));
    assert_eq!(items(&stream, 5), numbers(0..5));
    let pid = pids(&pool);
    drop(stream);
    until("the slots are free", || pool.stats().running == 0);
    // The one that waits for credit has been made as well.
    let made = made(&pool);
    assert!((5..=WINDOW + 1).contains(&made), "{made} made");
    assert_eq!(pids(&pool), pid, "it was asked, and needed no killing");
    assert_eq!(pool.stats().cancelled, 1);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_reader_that_stands_still_holds_its_worker_and_nobody_else() {
    let pool = rust_pool(json!({ "concurrency": 3 }));
    let stalled = stream(&pool, "numbers", json!(1_000_000));
    assert_eq!(items(&stalled, 1), numbers(0..1));
    let mut produced = 0;
    // The calls in between are what it does not hold up, and give it all the time it needs to run ahead.
    until("it waits", || {
        let before = produced;
        produced += made(&pool);
        assert_eq!(all(&stream(&pool, "count", json!(200))).0.len(), 200);
        produced == before && produced > 1
    });
    assert!((WINDOW..=WINDOW + 2).contains(&produced), "{produced} made");
    assert_eq!(items(&stalled, 2 * WINDOW), numbers(1..129), "and it goes on from there");
    drop(stalled);
    until("the slots are free", || pool.stats().running == 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn what_is_taken_ahead_gives_no_credit_before_it_is_used() {
    let pool = rust_pool(json!({ "concurrency": 2 }));
    let stream = stream(&pool, "numbers", json!(1000));
    let mut ahead = 0;
    until("the window is taken", || {
        ahead += stream.take_ahead(WINDOW).items.len();
        ahead == WINDOW
    });
    let mut produced = 0;
    until("it waits", || {
        produced += made(&pool);
        produced == WINDOW + 1
    });
    assert!(stream.take(1).is_empty() && !stream.is_over());
    stream.grant(WINDOW / 2 - 1);
    assert!(stream.take(1).is_empty(), "half a window at once");
    stream.grant(1);
    assert_eq!(items(&stream, WINDOW / 2), numbers(64..96));
    stream.grant(usize::MAX);
    assert_eq!(all(&stream).0, numbers(96..1000));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn one_wake_up_is_for_all_that_came() {
    let pool = rust_pool(json!({}));
    let stream = stream(&pool, "wait_after", json!(10));
    let (told, wakes) = mpsc::channel();
    let arm = |told: &mpsc::Sender<()>| {
        let told = told.clone();
        stream.notify(Box::new(move || told.send(()).unwrap()));
    };
    arm(&told);
    let mut taken = 0;
    while taken < 10 {
        wakes.recv_timeout(PATIENCE).unwrap();
        taken += stream.take(WINDOW).items.len();
        if taken < 10 {
            arm(&told);
        }
    }
    // A second one takes the place of the first.
    let dropped = Arc::new(());
    let kept = Arc::clone(&dropped);
    stream.notify(Box::new(move || drop(kept)));
    arm(&told);
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert!(wakes.try_recv().is_err());
    stream.cancel();
    wakes.recv_timeout(PATIENCE).expect("the end is news too");
    assert_eq!(code(end(&stream)), "CANCELLED");
    arm(&told);
    wakes.try_recv().expect("after the end it is called at once");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_stream_can_be_awaited() {
    let pool = rust_pool(json!({}));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let stream = stream(&pool, "fail_after", json!(100));
        let mut values = Vec::new();
        let error = loop {
            match stream.next().await.expect("the error comes before the end") {
                Ok(item) => values.push(value(&item)),
                Err(error) => break error,
            }
        };
        assert_eq!(values, numbers(0..100));
        assert_eq!(error.code.to_string(), "CALL_FAILED");
        assert!(stream.next().await.is_none());
    });
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn an_error_in_mid_stream_comes_after_the_items_before_it() {
    let pool = rust_pool(json!({}));
    for count in [0, 3, 200] {
        let (values, end) = all(&stream(&pool, "fail_after", json!(count)));
        assert_eq!(values, numbers(0..count));
        let error = end.unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.started), ("CALL_FAILED", Started::Yes));
        assert_eq!(error.message, "InputError: that is all");
    }
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_worker_that_dies_in_mid_stream_is_told_after_its_items_and_the_call_is_not_tried_again() {
    let pool = rust_pool(json!({ "retries": 3 }));
    let stream = stream_with(&pool, "die_after", json!(10), json!({ "idempotent": true }));
    let (values, end) = all(&stream);
    assert_eq!(values, numbers(0..10));
    let error = end.unwrap_err();
    assert_eq!((error.code.to_string().as_str(), error.attempts), ("WORKER_CRASHED", 1));
    assert_eq!(error.worker.unwrap().cause, DeathCause::Signal);
    assert_eq!(pool.stats().retried, 0);
    assert_eq!(all(&support::streams::stream(&pool, "count", json!(3))).0, numbers(0..3));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn clocks_run_as_for_any_call_and_their_errors_come_last() {
    let pool = rust_pool(json!({}));
    for (clock, expected) in [("timeout", "TIMEOUT"), ("deadline", "DEADLINE_EXCEEDED")] {
        let stream = stream_with(&pool, "wait_after", json!(10), json!({ clock: "1s" }));
        let (values, end) = all(&stream);
        assert_eq!((values, code(end)), (numbers(0..10), expected.to_owned()));
    }
    until("it stopped when asked", || pool.stats().running == 0);
    assert_eq!(pool.stats().crashed, 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_function_that_does_not_stop_when_its_reader_leaves_is_killed_after_its_grace() {
    let pool = rust_pool(json!({ "cancel_grace": "1s" }));
    let stream = stream(&pool, "stubborn_after", json!(3));
    assert_eq!(items(&stream, 3), numbers(0..3));
    let gone = pids(&pool);
    drop(stream);
    assert_eq!(pool.stats().running, 1, "the slots stay held until it has answered, or is gone");
    assert!(call(&pool, "echo", json!(1)).is_ok());
    assert_ne!(pids(&pool), gone);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_cancel_drops_what_was_not_taken_and_is_told_at_once() {
    let pool = rust_pool(json!({}));
    let stream = stream(&pool, "wait_after", json!(10));
    assert_eq!(items(&stream, 1), numbers(0..1));
    stream.cancel();
    assert_eq!(code(end(&stream)), "CANCELLED");
    stream.cancel();
    assert!(stream.is_over());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_stream_that_waits_in_the_queue_can_be_left_and_never_runs() {
    let pool = rust_pool(json!({}));
    let first = stream(&pool, "wait_after", json!(1));
    assert_eq!(items(&first, 1), numbers(0..1));
    let waiting = stream(&pool, "numbers", json!(10));
    until("it waits", || pool.stats().queued == 1);
    assert!(waiting.take_blocking(1, Some(Duration::ZERO)).is_none());
    drop(waiting);
    assert_eq!(pool.stats().queued, 0);
    drop(first);
    assert_eq!(made(&pool), 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_pool_that_closes_lets_streams_end_first_and_one_that_terminates_tells_them() {
    let pool = rust_pool(json!({}));
    let ending = stream(&pool, "numbers", json!(500));
    assert_eq!(items(&ending, 1), numbers(0..1));
    let closer = {
        let pool = pool.clone();
        std::thread::spawn(move || pool.close_blocking(Some(PATIENCE)))
    };
    until("it takes no more calls", || pool.is_closed());
    assert_eq!(code(end(&stream(&pool, "count", json!(1)))), "POOL_CLOSED");
    let (values, end) = all(&ending);
    assert_eq!((values, end.is_ok()), (numbers(1..500), true));
    closer.join().unwrap();

    let pool = rust_pool(json!({}));
    let cut = stream(&pool, "wait_after", json!(2));
    assert_eq!(items(&cut, 1), numbers(0..1));
    // The last handle: the pool ends with it, whoever still reads.
    drop(pool);
    let (values, end) = all(&cut);
    assert_eq!(code(end), "POOL_CLOSED");
    assert!(values.len() <= 1);
}

#[test]
fn a_stream_holds_its_slots_until_its_end() {
    let pool = rust_pool(json!({ "concurrency": 2 }));
    let wide = stream_with(&pool, "numbers", json!(300), json!({ "slots": 2 }));
    assert_eq!(items(&wide, 1), numbers(0..1));
    let next = submit(&pool, "echo", json!(1), json!({}));
    until("it waits", || pool.stats().queued == 1);
    assert_eq!(items(&wide, 200), numbers(1..201));
    assert!(next.try_recv().is_err(), "both slots are held");
    assert_eq!(all(&wide).0, numbers(201..300));
    assert!(outcome(&next).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn who_calls_a_stream_gets_the_list_and_progress_is_told_on_the_way() {
    let pool = rust_pool(json!({}));
    let list = call(&pool, "numbers", json!(200)).unwrap();
    assert_eq!(value(&list), json!(numbers(0..200)));
    assert_eq!(value(&call(&pool, "numbers", json!(0)).unwrap()), json!([]));

    let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let into = Arc::clone(&told);
    let observer = ProgressObserver::new(move |progress| into.lock().unwrap().push(progress.clone()));
    let call = Call { on_progress: Some(observer), ..asked("steps", &json!(50), &json!({})) };
    assert_eq!(integer(pool.call_blocking(call.clone())), 50);
    let expected: Vec<Progress> = (1..=50)
        .map(|step| Progress { done: step.into(), total: Some(50.0), note: Some(format!("step {step}")) })
        .collect();
    assert_eq!(*told.lock().unwrap(), expected, "all of it, before the outcome");
    assert!(end(&pool.stream(call)).is_ok());
    assert_eq!(told.lock().unwrap().len(), 100);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn many_streams_at_once_each_have_their_own_items() {
    let pool = rust_pool(json!({ "workers": 2, "concurrency": 8 }));
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for reader in 0..16 {
            let (pool, done) = (&pool, &done);
            scope.spawn(move || {
                let stream = stream(pool, "count", json!(500 + reader));
                let (values, end) = all(&stream);
                assert_eq!((values, end.is_ok()), (numbers(0..500 + reader), true));
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(done.into_inner(), 16);
    let batch = taken(&stream(&pool, "count", json!(1)), 1);
    assert_eq!(batch.items.len(), 1);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_worker_that_sends_items_without_credit_broke_the_protocol() {
    let pool = support::made(&json!({ "command": ["python3", support::node_worker("liar.py")] }));
    let stream = stream(&pool, "gush", json!(null));
    let (mut values, mut end) = (Vec::new(), None);
    until("it has ended", || {
        // Without credit: the sixty-fifth has none.
        let batch = stream.take_ahead(WINDOW);
        values.extend(batch.items.iter().map(value));
        end = batch.end;
        end.is_some()
    });
    assert_eq!(values, numbers(0..64));
    let error = end.unwrap().unwrap_err();
    assert_eq!(error.code.to_string(), "PROTOCOL");
    assert!(error.message.contains("without credit"), "{}", error.message);
    // Gathered items are used as they come: there is credit for them.
    assert_eq!(value(&call(&pool, "gush", json!(null)).unwrap()), json!(numbers(0..65)));
    pool.terminate_blocking();
}
