//! The functions of the behaviour suite, in Rust.

mod batches;
mod streams;

use std::fs::OpenOptions;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use ganger_worker::{Cancelled, Context, Failure, Function, Worker};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Terms {
    a: f64,
    b: f64,
}

fn main() {
    batches::offered_by(streams::offered_by(Worker::new()))
        .function("echo", |value: Value| value)
        .function("add", |terms: Terms| terms.a + terms.b)
        .stream("count", |to: u64| 0..to)
        .function("pid", |_: ()| std::process::id())
        .function("fail", |text: String| -> Result<(), Failure> {
            Err(Failure::new(text).error_type("InputError"))
        })
        .function("nap", nap)
        .function("polite", polite)
        .function("stubborn", |seconds: f64| {
            sleep(Duration::from_secs_f64(seconds));
            "ended"
        })
        .function("leave", |code: i32| -> () { std::process::exit(code) })
        .function("die", |_: ()| die())
        .offer(Function::new("die_at_first", die_at_first).idempotent(true))
        .function("attempt", |_: (), context: Context| context.attempt())
        .function("is_limited", |_: (), context: Context| context.remaining().is_some())
        .run()
}

/// Looks up often enough to be stopped.
fn nap(seconds: f64, context: Context) -> Result<&'static str, Cancelled> {
    let steps = (seconds / 0.002).ceil();
    let mut step = 0.0;
    while step < steps {
        context.check()?;
        sleep(Duration::from_millis(2));
        step += 1.0;
    }
    Ok("napped")
}

fn polite(_: (), context: Context) -> &'static str {
    while !context.is_cancelled() {
        sleep(Duration::from_millis(2));
    }
    "stopped"
}

pub(crate) fn die() {
    let own = std::process::id().to_string();
    let _ = Command::new("kill").args(["-KILL", &own]).status();
    sleep(Duration::from_secs(60));
}

fn die_at_first(path: String, context: Context) -> u32 {
    if OpenOptions::new().write(true).create_new(true).open(path).is_ok() {
        die();
    }
    context.attempt()
}
