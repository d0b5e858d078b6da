//! The functions of the behaviour suite that take the inputs of several calls at once.

use std::time::Duration;

use ganger_worker::{Cancelled, Context, Failure, Worker};
use serde::Serialize;

use crate::nap;

/// Nobody waits so long: a scenario fills each of its batches.
const WAIT: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Half {
    half: i64,
    of: usize,
}

pub(crate) fn offered_by(worker: Worker) -> Worker {
    worker
        .batch("halves", 3, WAIT, halves)
        .batch("too_few", 2, WAIT, |numbers: Vec<i64>| numbers[1..].to_vec())
        .batch("nap_together", 2, WAIT, nap_together)
}

fn halves(numbers: Vec<i64>) -> Vec<Result<Half, Failure>> {
    let half = |number: &i64| match number % 2 {
        0 => Ok(Half { half: number / 2, of: numbers.len() }),
        _ => Err(Failure::new(format!("{number} is odd"))),
    };
    numbers.iter().map(half).collect()
}

fn nap_together(seconds: Vec<f64>, context: Context) -> Result<Vec<&'static str>, Cancelled> {
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    Ok(vec![nap(longest, context)?; seconds.len()])
}
