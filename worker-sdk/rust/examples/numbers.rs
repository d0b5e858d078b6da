//! A worker with a function of every kind. The tests of this crate drive it.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ganger_worker::{
    BoxError, Bytes, Cancelled, Context, Failure, Function, Inputs, Sender, StreamError, Worker,
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Division {
    dividend: f64,
    divisor: f64,
}

#[derive(Serialize)]
struct Quotient {
    quotient: f64,
}

fn divide(input: Division) -> Result<Quotient, Failure> {
    if input.divisor == 0.0 {
        let cause = std::io::Error::other("a zero");
        let failure = Failure::new("cannot divide").error_type("DivisionError").property("divisor", 0);
        return Err(failure.caused_by(cause));
    }
    Ok(Quotient { quotient: input.dividend / input.divisor })
}

/// Spins until it is cancelled.
fn spin(_: (), context: Context) -> Result<(), Cancelled> {
    loop {
        context.check()?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn about(_: (), context: Context) -> String {
    context.log().warning("someone asks");
    context.progress(1.0, Some(2.0), Some("half"));
    let limited = context.remaining().is_some();
    format!("{} {} {limited} {:?}", context.function(), context.attempt(), context.trace().get("traceparent"))
}

fn parse(text: String) -> Result<i64, std::num::ParseIntError> {
    text.parse()
}

/// Reads a stream, and gives one value.
fn sum(start: i64, numbers: Inputs<i64>) -> Result<i64, StreamError> {
    numbers.into_iter().try_fold(start, |sum, number| Ok(sum + number?))
}

/// Reads one stream while it writes another.
fn scan(_: (), numbers: Inputs<i64>, sums: Sender<i64>) -> Result<(), StreamError> {
    let mut sum = 0;
    for number in numbers {
        sum += number?;
        sums.send(&sum)?;
    }
    Ok(())
}

/// Gives items, unless there is nothing to read them from.
fn words_of(path: String) -> Result<std::vec::IntoIter<String>, std::io::Error> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter())
}

/// Sends its items itself, and fails after the last.
fn sent(count: u64, items: Sender<u64>) -> Result<(), Failure> {
    (0..count)
        .try_for_each(|number| items.send(&number))
        .map_err(|end| Failure::new("unsent").caused_by(end))?;
    if count > 0 { Err(Failure::new("no more").error_type("Spent")) } else { Ok(()) }
}

/// Reads so many items, and leaves the rest.
fn first(count: usize, numbers: Inputs<i64>) -> Result<Vec<i64>, StreamError> {
    numbers.into_iter().take(count).collect()
}

static RELEASED: AtomicBool = AtomicBool::new(false);

type Squared = Result<(usize, i64), Failure>;

/// How many came with it, and its square; a number whose square is too large fails alone.
fn squares(numbers: Vec<i64>) -> Result<Vec<Squared>, Failure> {
    if numbers.contains(&13) {
        return Err(Failure::new("an unlucky batch"));
    }
    let square = |number: &i64| {
        let square = number.checked_mul(*number).ok_or_else(|| Failure::new("too large"))?;
        Ok((numbers.len(), square))
    };
    Ok(numbers.iter().map(square).collect())
}

/// Until nobody waits any more, or it is released, or as many milliseconds as the first says are over.
fn linger(numbers: Vec<u64>, context: Context) -> Result<Vec<u64>, Cancelled> {
    context.log().info("they linger");
    context.progress(0.0, None, None);
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(numbers[0]) && !RELEASED.load(Ordering::SeqCst) {
        context.check()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(numbers)
}

const IN_TIME: Duration = Duration::from_secs(5);

fn main() {
    let fails = std::env::args().any(|argument| argument == "fail");
    let worker = Worker::new()
        .startup(move |start| -> Result<(), BoxError> {
            start.log().info(&format!("on {:?}", start.device()));
            if fails { Err("no model".into()) } else { Ok(()) }
        })
        .shutdown(|| drop(writeln!(std::io::stderr(), "the hook ran")))
        .offer(Function::new("divide", divide).idempotent(true).summary("Divides").timeout(IN_TIME))
        .function("reverse", |data: Bytes| Bytes::from(data.iter().rev().copied().collect::<Vec<u8>>()))
        .function("spin", spin)
        .function("about", about)
        .function("parse", parse)
        .function("panic", |what: String| -> () { panic!("{what}") })
        .function("variables", |name: String| std::env::var(name).ok())
        .function("inherited", |_: ()| open_descriptors())
        .stream("count", |to: u64| 0..to)
        .stream("long", |bytes: usize| [Bytes::from(vec![7; bytes])])
        .function("sum", sum)
        .function("scan", scan)
        .function("first", first)
        .batch("squares", 4, Duration::from_millis(10), squares)
        .batch("linger", 3, Duration::ZERO, linger)
        .function("release", |_: ()| RELEASED.store(true, Ordering::SeqCst))
        .batch("too_few", 8, Duration::ZERO, |numbers: Vec<i64>| vec![numbers.len()])
        .batch("panics", 2, Duration::ZERO, |_: Vec<i64>| -> Vec<()> { panic!("all of it") });
    with_async_functions(with_fallible_streams(worker)).run()
}

fn with_fallible_streams(worker: Worker) -> Worker {
    worker.stream("words_of", words_of).stream("sent", sent)
}

/// What a child of this worker has open.
fn open_descriptors() -> Result<String, BoxError> {
    let output = std::process::Command::new("ls").args(["-l", "/proc/self/fd"]).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(feature = "async")]
fn with_async_functions(worker: Worker) -> Worker {
    worker
        .async_function("sleep", |milliseconds: u64| async move {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            milliseconds
        })
        .async_batch("linger_later", 2, Duration::ZERO, |numbers: Vec<u64>| async move {
            tokio::time::sleep(Duration::from_millis(numbers[0])).await;
            numbers
        })
        .async_function("panic_later", |later: bool| async move {
            if later {
                panic!("later")
            }
        })
        .async_function("scan_async", |_: (), mut numbers: Inputs<i64>, sums: Sender<i64>| async move {
            let mut sum = 0;
            while let Some(number) = numbers.next_async().await {
                sum += number?;
                sums.send_async(&sum).await?;
            }
            Ok::<(), StreamError>(())
        })
        .async_stream("count_async", |to: u64| Count { next: 0, to })
}

#[cfg(feature = "async")]
struct Count {
    next: u64,
    to: u64,
}

#[cfg(feature = "async")]
impl futures_core::Stream for Count {
    type Item = u64;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<u64>> {
        let next = self.next;
        self.next += 1;
        std::task::Poll::Ready((next < self.to).then_some(next))
    }
}

#[cfg(not(feature = "async"))]
fn with_async_functions(worker: Worker) -> Worker {
    worker
}
