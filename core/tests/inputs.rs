//! Items that are sent into a running call, and both directions at once.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use ganger::error::{Error, ErrorCode};
use ganger::{Inputs, Pool, Sent};
use serde_json::{Value, json};
use support::streams::{
    WINDOW, all, blob, both_ways, end, item, items, made, numbers, send, stream, stream_with, taken, value,
};
use support::{PATIENCE, asked, call, code, integer, outcome, pids, rust_pool, until};

/// Sends until there is no credit left; says how many went.
fn fill(inputs: &Inputs) -> usize {
    (0..).take_while(|number| sent(inputs, *number)).count()
}

fn sent(inputs: &Inputs, number: i64) -> bool {
    match inputs.try_send(item(json!(number))).unwrap() {
        Sent::Taken => true,
        Sent::Full(_) => false,
        Sent::Over => panic!("the call is not over"),
    }
}

#[test]
fn a_function_reads_what_is_sent_while_it_runs() {
    for concurrency in [1, 3] {
        let pool = rust_pool(json!({ "concurrency": concurrency }));
        let (told, done) = mpsc::channel();
        let completion = Box::new(move |outcome| told.send(outcome).unwrap());
        let (_, inputs) = pool.submit_with_inputs(asked("sum", &json!(1000), &json!({})), completion);
        // More than a window, and the first of them before there is a worker.
        (0..500).for_each(|number| send(&inputs, item(json!(number))));
        inputs.finish();
        assert_eq!(integer(outcome(&done)), 1000 + 499 * 500 / 2);
        assert!(inputs.is_over());
        assert!(matches!(inputs.try_send(item(json!(1))).unwrap(), Sent::Over));
        pool.close_blocking(Some(PATIENCE));
    }
}

#[test]
fn items_go_both_ways_at_once() {
    let pool = rust_pool(json!({}));
    let (stream, inputs) = both_ways(&pool, "mirror", json!(null));
    for number in 0..300 {
        send(&inputs, item(json!({ "number": number })));
        assert_eq!(items(&stream, 1), [json!({ "number": number })]);
    }
    inputs.finish();
    assert!(end(&stream).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_call_without_items_has_an_input_stream_that_is_empty() {
    let pool = rust_pool(json!({}));
    assert_eq!(integer(call(&pool, "sum", json!(7))), 7, "before its contract was known");
    assert_eq!(integer(call(&pool, "sum", json!(8))), 8);
    let (values, end) = all(&stream(&pool, "mirror", json!(null)));
    assert!(values.is_empty() && end.is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn items_for_a_function_that_reads_none_are_refused() {
    let pool = rust_pool(json!({}));
    for known in [false, true] {
        let (stream, inputs) = both_ways(&pool, "count", json!(3));
        let error = end(&stream).unwrap_err();
        assert_eq!(error.code.to_string(), "INVALID_INPUT", "known: {known}");
        assert_eq!(error.message, "count reads no input stream");
        assert!(matches!(inputs.try_send(item(json!(1))).unwrap(), Sent::Over));
    }
    assert_eq!(made(&pool), 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_sender_waits_for_a_function_that_does_not_read_and_no_call_is_held_up() {
    let pool = rust_pool(json!({ "concurrency": 2 }));
    let (stream, inputs) = both_ways(&pool, "reads_nothing_until_stopped", json!(null));
    assert_eq!(fill(&inputs), WINDOW);
    assert!(call(&pool, "echo", json!(1)).is_ok());
    assert!(!sent(&inputs, 1), "nothing was read");
    let waited = inputs.send_blocking(item(json!(1)), Some(Duration::ZERO)).unwrap();
    assert!(matches!(waited, Sent::Full(_)));
    let (told, wakes) = mpsc::channel();
    inputs.notify(Box::new(move || told.send(()).unwrap()));
    assert!(wakes.try_recv().is_err());
    stream.cancel();
    wakes.recv_timeout(PATIENCE).expect("that it is over is news too");
    assert!(matches!(inputs.try_send(item(json!(1))).unwrap(), Sent::Over));
    assert_eq!(code(end(&stream)), "CANCELLED");
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn one_long_item_may_go_beyond_the_window_and_the_next_waits() {
    let pool = rust_pool(json!({}));
    let (stream, inputs) = both_ways(&pool, "reads_nothing_until_stopped", json!(null));
    assert!(matches!(inputs.try_send(blob(vec![1; 5 << 20])).unwrap(), Sent::Taken));
    assert!(!sent(&inputs, 1));
    drop(stream);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_function_that_returns_early_ends_the_stream_of_its_sender() {
    let pool = rust_pool(json!({}));
    let (stream, inputs) = both_ways(&pool, "first", json!(2));
    let mut sent = 0;
    loop {
        match inputs.send_blocking(item(json!(sent)), Some(PATIENCE)).unwrap() {
            Sent::Taken => sent += 1,
            Sent::Over => break,
            Sent::Full(_) => panic!("it returned"),
        }
    }
    assert_eq!(value(&end(&stream).unwrap()), json!([0, 1]));
    // What it did not read does not come to the next call.
    assert_eq!(integer(call(&pool, "sum", json!(3))), 3);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_source_that_fails_cancels_the_call_and_may_say_why() {
    let pool = rust_pool(json!({}));
    let (stream, inputs) = both_ways(&pool, "mirror", json!(null));
    send(&inputs, item(json!(1)));
    assert_eq!(items(&stream, 1), numbers(1..2));
    drop(inputs);
    assert_eq!(code(end(&stream)), "CANCELLED", "what broke off is not complete");

    let (stream, inputs) = both_ways(&pool, "mirror", json!(null));
    send(&inputs, item(json!(1)));
    assert_eq!(items(&stream, 1), numbers(1..2));
    inputs.fail(Some(Box::new(Error::new(ErrorCode::InvalidInput, "the file ends amid a line"))));
    let error = end(&stream).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidInput, "the file ends amid a line"));
    assert_eq!(error.function.as_deref(), Some("mirror"));

    let (stream, inputs) = both_ways(&pool, "sum", json!(1));
    inputs.finish();
    inputs.fail(None);
    drop(inputs);
    assert_eq!(value(&end(&stream).unwrap()), json!(1), "after its end nothing can break off");
    until("all have stopped", || pool.stats().running == 0);
    assert_eq!(pool.stats().crashed, 0);
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn an_item_that_does_not_fit_ends_the_call_with_its_place() {
    let pool = rust_pool(json!({}));
    let (stream, inputs) = both_ways(&pool, "sum", json!(0));
    send(&inputs, item(json!(1)));
    send(&inputs, item(json!("two")));
    let error = end(&stream).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidInput);
    assert_eq!(error.report.unwrap().path.as_deref(), Some("$"));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_cap_fails_the_item_that_is_over_it() {
    let pool = rust_pool(json!({ "max_payload": "1mb" }));
    let (stream, inputs) = both_ways(&pool, "mirror_blobs", json!(null));
    let error = inputs.try_send(blob(vec![0; 1_000_001])).unwrap_err();
    assert_eq!(error.code, ErrorCode::PayloadTooLarge);
    send(&inputs, blob(vec![0; 1_000_000]));
    assert_eq!(taken(&stream, 1).items[0].payload.len(), 1_000_000);
    inputs.finish();
    assert_eq!(value(&end(&stream).unwrap()), json!(1_000_000));
    let long = stream_with(&pool, "blobs", json!({ "count": 3, "bytes": 1_000_001 }), json!({}));
    assert_eq!(code(end(&long)), "PAYLOAD_TOO_LARGE", "the worker holds to it as well");
    assert!(call(&pool, "echo", json!(1)).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn items_wait_with_their_call_and_are_dropped_with_it() {
    let pool = rust_pool(json!({}));
    let first = stream(&pool, "wait_after", json!(1));
    assert_eq!(items(&first, 1), numbers(0..1));
    let (waiting, inputs) = both_ways(&pool, "mirror", json!(null));
    assert_eq!(fill(&inputs), WINDOW, "they are held");
    let (left, others) = both_ways(&pool, "mirror", json!(null));
    assert_eq!(fill(&others), WINDOW);
    drop(left);
    assert!(matches!(others.try_send(item(json!(1))).unwrap(), Sent::Over));
    drop(first);
    assert_eq!(items(&waiting, WINDOW), numbers(0..64));
    inputs.finish();
    assert!(end(&waiting).is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_worker_that_dies_takes_both_directions_with_it() {
    let pool = rust_pool(json!({ "retries": 2 }));
    let call = asked("mirror", &Value::Null, &json!({ "idempotent": true }));
    let (stream, inputs) = pool.stream_with_inputs(call);
    send(&inputs, item(json!(1)));
    assert_eq!(items(&stream, 1), numbers(1..2));
    support::kill(pids(&pool)[0], "KILL");
    let error = end(&stream).unwrap_err();
    assert_eq!((error.code, error.attempts), (ErrorCode::WorkerCrashed, 1));
    assert!(matches!(inputs.send_blocking(item(json!(2)), Some(PATIENCE)).unwrap(), Sent::Over));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn items_can_be_sent_by_an_asynchronous_sender() {
    let pool = rust_pool(json!({}));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (stream, inputs) = both_ways(&pool, "mirror", json!(null));
    let sender = async {
        for number in 0..300 {
            assert!(matches!(inputs.send(item(json!(number))).await.unwrap(), Sent::Taken));
        }
        inputs.finish();
    };
    let reader = async {
        let mut values = Vec::new();
        while let Some(next) = stream.next().await {
            values.push(value(&next.unwrap()));
        }
        assert_eq!(values, numbers(0..300));
    };
    runtime.block_on(async { tokio::join!(sender, reader) });
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn streams_under_fire_end_once_each_with_their_items_in_order() {
    const STREAMS: usize = 60;
    let pool = rust_pool(json!({ "workers": 3, "concurrency": 3 }));
    let (done, whole) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for reader in 0..6 {
            let (pool, done, whole) = (&pool, &done, &whole);
            scope.spawn(move || {
                for number in 0..STREAMS / 6 {
                    whole.fetch_add(usize::from(under_fire(pool, reader + number)), Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // Somebody is shot whenever a few more have ended, so that some live to their end, however slow the machine is.
        let mut shots = 0;
        while done.load(Ordering::SeqCst) < STREAMS {
            if done.load(Ordering::SeqCst) >= shots * 8
                && let Some(&pid) = pids(&pool).first()
            {
                // It may be gone by now.
                drop(std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).output());
                shots += 1;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(shots >= 4, "{shots} shots");
    });
    assert!(whole.into_inner() > 0, "eight and more ended between two shots, three at most with one worker");
    until("nothing is left", || pool.stats().running == 0 && pool.stats().queued == 0);
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.retried), (STREAMS as u64, 0));
    assert_eq!(stats.completed + stats.failed + stats.cancelled, STREAMS as u64);
    pool.close_blocking(Some(PATIENCE));
}

/// One stream each way. What comes back is what went, up to where it broke off. Whether it came to its end.
fn under_fire(pool: &Pool, length: usize) -> bool {
    let (stream, inputs) = both_ways(pool, "mirror", json!(null));
    let count = 200 + i64::try_from(length).unwrap();
    let (values, end) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..count {
                if let Sent::Over = inputs.send_blocking(item(json!(number)), Some(PATIENCE)).unwrap() {
                    return;
                }
            }
            inputs.finish();
        });
        all(&stream)
    });
    let came = i64::try_from(values.len()).unwrap();
    assert_eq!(values, numbers(0..came));
    match end {
        Ok(_) => assert_eq!(came, count),
        Err(error) => assert!(["WORKER_CRASHED", "START_FAILED"].contains(&error.code.as_str()), "{error:?}"),
    }
    came == count
}
