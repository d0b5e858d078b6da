//! Functions that yield and read streams in every way that may go wrong.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use ganger_worker::{BoxError, Bytes, Context, Failure, Inputs, Sender, StreamError, Worker};
use serde::Deserialize;
use serde_json::Value;

/// Items that `numbers` and `blobs` have made since the last call of `made`.
static MADE: AtomicU64 = AtomicU64::new(0);

#[derive(Deserialize)]
struct Blobs {
    count: u64,
    bytes: usize,
}

pub(crate) fn offered_by(worker: Worker) -> Worker {
    worker
        .stream("numbers", |to: u64| (0..to).inspect(|_| note_made()))
        .stream("blobs", |asked: Blobs| (0..asked.count).map(move |number| blob(number, asked.bytes)))
        .function("made", |_: ()| MADE.swap(0, Ordering::SeqCst))
        .function("sum", |start: i64, numbers: Inputs<i64>| -> Result<i64, StreamError> {
            numbers.into_iter().try_fold(start, |sum, number| Ok(sum + number?))
        })
        .function("mirror", mirror)
        .function("mirror_blobs", mirror_blobs)
        .function("first", |count: usize, items: Inputs<Value>| -> Result<Vec<Value>, StreamError> {
            items.into_iter().take(count).collect()
        })
        .function("reads_nothing_until_stopped", |_: (), _items: Inputs<Value>, context: Context| {
            while !context.is_cancelled() {
                sleep(Duration::from_millis(2));
            }
        })
        .function("fail_after", |count: u64, items: Sender<u64>| -> Result<(), BoxError> {
            (0..count).try_for_each(|number| items.send(&number))?;
            Err(Failure::new("that is all").error_type("InputError").into())
        })
        .function("die_after", |count: u64, items: Sender<u64>| {
            let sent = (0..count).try_for_each(|number| items.send(&number));
            drop(sent);
            crate::die();
        })
        .function("wait_after", |count: u64, items: Sender<u64>, context: Context| {
            let sent = (0..count).try_for_each(|number| items.send(&number));
            drop(sent);
            while !context.is_cancelled() {
                sleep(Duration::from_millis(2));
            }
        })
        .function("stubborn_after", |count: u64, items: Sender<u64>| {
            let sent = (0..count).try_for_each(|number| items.send(&number));
            drop(sent);
            sleep(Duration::from_secs(60));
        })
        .function("steps", |count: u32, context: Context| {
            for step in 1..=count {
                context.progress(step.into(), Some(count.into()), Some(&format!("step {step}")));
            }
            count
        })
}

fn note_made() {
    MADE.fetch_add(1, Ordering::SeqCst);
}

fn blob(number: u64, bytes: usize) -> Bytes {
    note_made();
    vec![number.to_le_bytes()[0]; bytes].into()
}

fn mirror(_: (), items: Inputs<Value>, back: Sender<Value>) -> Result<(), StreamError> {
    for item in items {
        back.send(&item?)?;
    }
    Ok(())
}

fn mirror_blobs(_: (), items: Inputs<Bytes>, back: Sender<Bytes>) -> Result<u64, StreamError> {
    let mut sum = 0;
    for item in items {
        let item = item?;
        sum += item.len() as u64;
        back.send(&item)?;
    }
    Ok(sum)
}
