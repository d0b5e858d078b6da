//! A worker of functions with the attribute `action`, one of each way to answer. The tests of this crate drive it.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use ganger_worker::schemars::{self, JsonSchema};
use ganger_worker::{
    BoxError, Bytes, Cancelled, Context, Function, Inputs, Sender, State, StreamError, Worker, action,
};
use serde::{Deserialize, Serialize};

/// What all calls share.
struct Counter {
    loaded_by: u32,
    calls: AtomicU64,
}

#[derive(Deserialize, JsonSchema)]
struct Price {
    /// In the unit of its currency.
    amount: f64,
    #[serde(default)]
    currency: Currency,
    #[serde(rename = "tags", default)]
    labels: Vec<Label>,
}

#[derive(Deserialize, Serialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "UPPERCASE")]
enum Currency {
    #[default]
    Eur,
    Usd,
}

#[derive(Deserialize, JsonSchema)]
struct Label {
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Converted {
    amount: f64,
    currency: Currency,
    labels: Vec<String>,
    #[schemars(with = "ganger_worker::Binary")]
    seal: Bytes,
}

/// It has no schema.
#[derive(Deserialize)]
struct Plain {
    text: String,
}

/// Converts a price
/// by the rate of the day.
///
/// The rest is for who reads the code.
#[action(idempotent, timeout = "5s", slots = 2, weight = 3, coefficient = 1.5, exclusive = "worker")]
fn convert(price: Price) -> Result<Converted, std::num::ParseFloatError> {
    let labels = price.labels.into_iter().map(|label| label.text).collect();
    let rate: f64 = "1.5".parse()?;
    Ok(Converted {
        amount: price.amount * rate,
        currency: price.currency,
        labels,
        seal: Bytes::from_static(b"x"),
    })
}

#[action(name = "text.shout", summary = "Writes in capitals")]
async fn shout(plain: Plain) -> String {
    tokio::task::yield_now().await;
    plain.text.to_uppercase()
}

/// Counts.
#[action]
fn count(to: u32) -> impl Iterator<Item = u32> {
    0..to
}

#[action(stream)]
fn letters(text: String) -> Vec<char> {
    text.chars().collect()
}

/// Gives characters, unless there are none.
#[action(stream)]
fn capitals(text: String) -> Result<impl Iterator<Item = char>, BoxError> {
    let capitals: Vec<_> = text.chars().filter(|letter| letter.is_uppercase()).collect();
    if capitals.is_empty() { Err("no capitals".into()) } else { Ok(capitals.into_iter()) }
}

#[action]
fn twice(number: i64, _context: Context) -> impl IntoIterator<Item = i64> {
    [number, number]
}

#[action]
fn count_later(to: u32) -> impl futures_core::Stream<Item = Result<u32, Cancelled>> {
    Later { next: 0, to }
}

/// Reads one stream while it writes another.
#[action]
fn scan(_: (), numbers: Inputs<i64>, sums: Sender<Option<i64>>) -> Result<(), StreamError> {
    let mut sum = 0;
    for number in numbers {
        sum += number?;
        sums.send(&Some(sum))?;
    }
    Ok(())
}

#[action]
fn reverse(data: Bytes) -> Bytes {
    data.iter().rev().copied().collect::<Vec<_>>().into()
}

/// Shortens texts, several at a time.
#[action(batch(3, "20ms"), idempotent)]
fn shorten(texts: Vec<Plain>, context: Context) -> Vec<Result<String, BoxError>> {
    context.progress(texts.len() as f64, None, None);
    let shorten = |plain: Plain| Ok(plain.text.get(..2).ok_or("too short already")?.to_owned());
    texts.into_iter().map(shorten).collect()
}

#[action(batch(2, "0"))]
async fn halves(numbers: Vec<u32>) -> Result<Vec<f64>, std::num::TryFromIntError> {
    tokio::task::yield_now().await;
    let halve = |number: &u32| Ok(f64::from(u16::try_from(*number)?) / 2.0);
    numbers.iter().map(halve).collect()
}

/// Who loaded the state, and how many calls it has seen.
#[action]
fn counted(_: (), context: Context, counter: State<Counter>) -> (u32, u64, String) {
    (counter.loaded_by, counter.calls.fetch_add(1, Ordering::Relaxed) + 1, context.function().to_owned())
}

#[action]
fn function() {}

/// All that a function may have.
#[action]
fn all(
    many: usize,
    numbers: Inputs<u64>,
    sums: Sender<u64>,
    context: Context,
    counter: State<Counter>,
) -> Result<(), StreamError> {
    for number in numbers.take(many) {
        context.check()?;
        sums.send(&(counter.calls.fetch_add(number?, Ordering::Relaxed)))?;
    }
    Ok(())
}

fn main() {
    let halve = Function::new("halve", |number: f64| number / 2.0);
    let halve = halve.input_schema::<f64>().output_schema::<Option<f64>>().inputs_schema::<bool>();
    let worker = Worker::new().actions().offer(halve);
    let state = std::env::args().nth(1).unwrap_or_default();
    match state.as_str() {
        "without" => worker.run(),
        "another" => worker.state(|_| Ok::<_, BoxError>(7_u64)).run(),
        "broken" => worker.state(|_| Err::<Counter, BoxError>("no model".into())).run(),
        _ => worker.state(|start| {
            let calls = AtomicU64::new(0);
            Ok::<_, BoxError>(Counter { loaded_by: start.place().worker, calls })
        }),
    }
    .run()
}

struct Later {
    next: u32,
    to: u32,
}

impl futures_core::Stream for Later {
    type Item = Result<u32, Cancelled>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let next = self.next;
        self.next += 1;
        std::task::Poll::Ready((next < self.to).then_some(Ok(next)))
    }
}
