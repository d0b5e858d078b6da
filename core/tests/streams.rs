//! Calls that answer with many values: order, backpressure, early leave, ends of every kind.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use ganger::{Batch, Reply, Stream};
use serde_json::{Value, json};
use support::{PATIENCE, asked, call, rust_pool, until};

fn stream(pool: &ganger::Pool, function: &str, input: Value) -> Stream {
    pool.stream(asked(function, &input, &json!({})))
}

/// Blocks until there is something.
fn taken(stream: &Stream, at_most: usize) -> Batch {
    stream.take_blocking(at_most, Some(PATIENCE)).expect("something comes")
}

fn value(item: &Reply) -> Value {
    ganger_protocol::Value::decode(&item.payload).unwrap().to_json()
}

/// All items, and the end.
fn all(stream: &Stream) -> (Vec<Value>, ganger::Outcome) {
    let mut values = Vec::new();
    loop {
        let batch = taken(stream, 7);
        values.extend(batch.items.iter().map(value));
        if let Some(end) = batch.end {
            assert!(stream.is_over() && stream.take(1).is_empty());
            return (values, end);
        }
    }
}

#[test]
fn items_come_in_order_and_then_the_end() {
    let pool = rust_pool(json!({}));
    let (values, end) = all(&stream(&pool, "count", json!(1000)));
    assert_eq!(values, (0..1000).map(Value::from).collect::<Vec<_>>());
    let end = end.unwrap();
    assert_eq!((value(&end), end.attempts), (Value::Null, 1));
    let (values, end) = all(&stream(&pool, "count", json!(0)));
    assert!(values.is_empty() && end.is_ok());
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn a_function_of_one_value_has_no_items_and_its_value_is_the_end() {
    let pool = rust_pool(json!({}));
    let (values, end) = all(&stream(&pool, "echo", json!([1, 2])));
    assert!(values.is_empty());
    assert_eq!(value(&end.unwrap()), json!([1, 2]));
    pool.close_blocking(Some(PATIENCE));
}

#[test]
fn who_leaves_early_frees_the_worker_which_is_no_further_than_the_window() {
    let pool = rust_pool(json!({ "workers": 1 }));
    let stream = stream(&pool, "count", json!(1_000_000));
    let first: Vec<Value> = std::iter::repeat_with(|| taken(&stream, 1).items)
        .flat_map(|items| items.iter().map(value).collect::<Vec<_>>())
        .take(5)
        .collect();
    assert_eq!(first, (0..5).map(Value::from).collect::<Vec<_>>());
    let pid = support::pids(&pool);
    drop(stream);
    until("the slots are free", || pool.stats().running == 0);
    assert!(call(&pool, "echo", json!(1)).is_ok());
    assert_eq!(support::pids(&pool), pid, "it was asked, and needed no killing");
    pool.close_blocking(Some(PATIENCE));
}
