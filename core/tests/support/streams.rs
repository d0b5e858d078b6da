//! Streams as the suites read and feed them.

use ganger::{Batch, Encoding, Input, Inputs, Outcome, Pool, Reply, Sent, Shape, Stream};
use serde_json::{Value, json};

use super::{PATIENCE, asked, call, integer, message_pack};

/// What a worker may be ahead of who reads.
pub(crate) const WINDOW: usize = 64;

pub(crate) fn stream(pool: &Pool, function: &str, input: Value) -> Stream {
    stream_with(pool, function, input, json!({}))
}

pub(crate) fn stream_with(pool: &Pool, function: &str, input: Value, options: Value) -> Stream {
    pool.stream(asked(function, &input, &options))
}

pub(crate) fn both_ways(pool: &Pool, function: &str, input: Value) -> (Stream, Inputs) {
    pool.stream_with_inputs(asked(function, &input, &json!({})))
}

/// Blocks until there is something.
pub(crate) fn taken(stream: &Stream, at_most: usize) -> Batch {
    stream.take_blocking(at_most, Some(PATIENCE)).expect("something comes")
}

/// So many items, one by one.
pub(crate) fn items(stream: &Stream, count: usize) -> Vec<Value> {
    let mut items = Vec::new();
    while items.len() < count {
        let batch = taken(stream, 1);
        assert!(batch.end.is_none(), "it ended after {items:?}: {:?}", batch.end);
        items.extend(batch.items.iter().map(value));
    }
    items
}

/// All items, and the end.
pub(crate) fn all(stream: &Stream) -> (Vec<Value>, Outcome) {
    let mut values = Vec::new();
    loop {
        let batch = taken(stream, 7);
        values.extend(batch.items.iter().map(value));
        if let Some(end) = batch.end {
            assert!(stream.is_over() && stream.take(1).is_empty(), "the end comes once");
            return (values, end);
        }
    }
}

/// The end, when no item is left.
pub(crate) fn end(stream: &Stream) -> Outcome {
    let (left, end) = all(stream);
    assert!(left.is_empty(), "unexpected items: {left:?}");
    end
}

pub(crate) fn value(item: &Reply) -> Value {
    ganger_protocol::Value::decode(&item.payload).unwrap().to_json()
}

pub(crate) fn numbers(range: std::ops::Range<i64>) -> Vec<Value> {
    range.map(Value::from).collect()
}

pub(crate) fn item(value: Value) -> Input {
    Input::message_pack(message_pack(&value))
}

pub(crate) fn blob(bytes: Vec<u8>) -> Input {
    Input::new(Encoding::Raw, Shape::Value, bytes)
}

pub(crate) fn send(inputs: &Inputs, item: Input) {
    let sent = inputs.send_blocking(item, Some(PATIENCE)).unwrap();
    assert!(matches!(sent, Sent::Taken), "{sent:?}");
}

/// Items that `numbers` and `blobs` made since this was last asked.
pub(crate) fn made(pool: &Pool) -> usize {
    usize::try_from(integer(call(pool, "made", json!(null)))).unwrap()
}
