//! Calls that are handed over ahead: each waits for its turn, and is the host's until the worker claims it.

use ganger_protocol::{Flags, Frame, Kind, Lane, Value};

use super::cancels::is_cancelled;
use super::payloads::decoded;
use super::start::close_on_exec;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup, hear_ready};
use crate::check::breach::{Breach, Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

const NEEDS: &[Need] = &[Need::Ahead, Need::Function("check_echo"), Need::Function("check_wait")];

pub(super) const TRIALS: &[Trial] = &[
    trial(&[60], &[Need::Ahead, Need::Linux], hides_its_claims),
    trial(&[62], NEEDS, takes_calls_up_in_order),
    trial(&[62], NEEDS, waits_for_the_answer_before),
    trial(&[62], NEEDS, forgets_what_was_taken_back),
    trial(&[62], NEEDS, stops_behind_what_was_taken_back),
    trial(&[63], NEEDS, remembers_cancels_of_calls_that_wait),
];

fn hides_its_claims(bench: &Bench) -> Kept {
    let (mut link, hello) = bench.greeted(&Setup::default())?;
    hear_ready(&mut link)?;
    close_on_exec(60, hello.pid, 5)?;
    link.finish()
}

fn takes_calls_up_in_order(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let echo = bench.function("check_echo");
    for _ in 0..3 {
        let mut calls = Vec::new();
        for number in 0..16_i64 {
            calls.push((hand_over(&mut link, &echo, &number.into())?, number));
        }
        for (seq, number) in calls {
            echoes(&mut link, seq, &number.into())?;
        }
        has_left(&link, 0, "a token taken for each call")?;
        // Nothing is before it, so it comes as it would without.
        let plain = link.call(&echo, &"plain".into());
        echoes(&mut link, plain, &"plain".into())?;
    }
    link.finish()
}

fn waits_for_the_answer_before(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let wait = bench.function("check_wait");
    let first = begun_ahead(&mut link, &wait)?;
    let second = hand_over(&mut link, &wait, &Value::Nil)?;
    let third = hand_over(&mut link, &bench.function("check_echo"), &3.into())?;
    link.count(std::time::Duration::from_millis(200), |_| false)?;
    has_left(&link, 2, NOT_EARLY)?;
    link.cancel(first);
    link.answer(62, "the end of a cancelled call", first)?;
    has_begun(&mut link, second)?;
    has_left(&link, 1, NOT_EARLY)?;
    link.cancel(second);
    link.answer(62, "the end of the call that waited", second)?;
    echoes(&mut link, third, &3.into())?;
    has_left(&link, 0, "a token taken for each call")?;
    link.finish()
}

fn forgets_what_was_taken_back(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let (echo, wait) = (bench.function("check_echo"), bench.function("check_wait"));
    let first = begun_ahead(&mut link, &wait)?;
    let second = hand_over(&mut link, &echo, &2.into())?;
    let unwanted = [hand_over(&mut link, &wait, &Value::Nil)?, hand_over(&mut link, &echo, &Value::Nil)?];
    for last in unwanted.into_iter().rev() {
        take_back(&mut link, last)?;
    }
    link.cancel(first);
    link.answer(62, "the end of a cancelled call", first)?;
    echoes(&mut link, second, &2.into())?;
    let plain = link.call(&echo, &"plain".into());
    echoes(&mut link, plain, &"plain".into())?;
    let last = hand_over(&mut link, &echo, &"last".into())?;
    echoes(&mut link, last, &"last".into())?;
    link.ping(62)?;
    link.finish()
}

fn stops_behind_what_was_taken_back(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let first = begun_ahead(&mut link, &bench.function("check_wait"))?;
    let second = hand_over(&mut link, &bench.function("check_echo"), &Value::Nil)?;
    take_back(&mut link, second)?;
    link.stop();
    link.cancel(first);
    link.answer(62, "the end of a cancelled call", first)?;
    link.exits_with(62, 0)
}

fn remembers_cancels_of_calls_that_wait(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let (echo, wait) = (bench.function("check_echo"), bench.function("check_wait"));
    let first = begun_ahead(&mut link, &wait)?;
    let second = hand_over(&mut link, &wait, &Value::Nil)?;
    let third = hand_over(&mut link, &echo, &3.into())?;
    let fourth = hand_over(&mut link, &wait, &Value::Nil)?;
    for waiting in [second, fourth] {
        link.cancel(waiting);
    }
    take_back(&mut link, fourth)?;
    link.cancel(first);
    link.answer(63, "the end of a cancelled call", first)?;
    let of_second = |_: Lane, frame: &Frame| frame.seq == second;
    let came = link.wait(63, "ERROR CANCELLED for a call that was cancelled while it waited", of_second)?;
    ensure(is_cancelled(&came), 63, "ERROR CANCELLED, without running", || describe(&came))?;
    echoes(&mut link, third, &3.into())?;
    link.ping(63)?;
    link.finish()
}

/// A call with its token. The worker may be busy.
fn hand_over(link: &mut Link, function: &str, input: &Value) -> Kept<u64> {
    let mut frame = link.call_frame(function, input);
    frame.flags = frame.flags.with(Flags::AHEAD);
    let tokens = link.ledger.tokens.as_ref().expect("the trial needs a worker that claims");
    tokens.put().map_err(|error| Breach::new(60, "a token", error.to_string()))?;
    link.send(Lane::Data, &frame);
    Ok(frame.seq)
}

/// The last call that was handed over is the host's again.
fn take_back(link: &mut Link, seq: u64) -> Kept {
    let taken = link.ledger.tokens.as_ref().is_some_and(|tokens| tokens.take());
    ensure(taken, 62, NOT_EARLY, || "no token left to take a call back with".to_owned())?;
    link.ledger.taken_back(seq);
    Ok(())
}

/// A call of `check_wait` that was handed over, and has said that it runs.
fn begun_ahead(link: &mut Link, wait: &str) -> Kept<u64> {
    let seq = hand_over(link, wait, &Value::Nil)?;
    has_begun(link, seq)?;
    has_left(link, 0, "its token taken before a call begins")?;
    Ok(seq)
}

fn has_begun(link: &mut Link, seq: u64) -> Kept {
    let begun = |_: Lane, frame: &Frame| frame.kind == Kind::Progress && frame.seq == seq;
    link.wait(62, "PROGRESS of a call whose turn has come", begun).map(drop)
}

fn echoes(link: &mut Link, seq: u64, value: &Value) -> Kept {
    let came = link.result(62, seq)?;
    ensure(decoded(&came).as_ref() == Some(value), 62, "the input of that call", || describe(&came))
}

fn has_left(link: &Link, count: u64, expected: &str) -> Kept {
    let left = link.ledger.tokens.as_ref().and_then(|tokens| tokens.left());
    ensure(left == Some(count), 62, expected, || format!("{left:?} tokens left, not {count}"))
}

const NOT_EARLY: &str = "no token taken for a call whose turn has not come";
