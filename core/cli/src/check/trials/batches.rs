//! Calls that their function is given together: each ends for itself.

use std::time::Duration;

use ganger_protocol::message::{Call, InBatch, code};
use ganger_protocol::{Encoding, Frame, Kind, Lane, Value};

use super::cancels::is_cancelled;
use super::payloads::decoded;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Breach, Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[58], &[Need::Batches], ends_each_call_in_order),
    trial(&[58], &[Need::Batches], refuses_inputs_alone),
    trial(&[58], &[Need::Batches], leaves_out_who_was_cancelled_before),
    trial(&[58], &[Need::Batches], tells_all_of_results_that_are_too_few),
    trial(&[59], &[Need::Batches], lets_one_go_while_the_batch_runs),
    trial(&[59], &[Need::Batches], stops_when_the_last_is_cancelled),
];

fn ends_each_call_in_order(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let calls = batch(&mut link, bench, &[plain(10), fails(11), plain(12), plain(13)]);
    ends_with(&mut link, calls[0], 10, 4)?;
    link.error(58, calls[1], code::CALL_FAILED)?;
    ends_with(&mut link, calls[2], 12, 4)?;
    ends_with(&mut link, calls[3], 13, 4)?;
    alone(&mut link, bench)?;
    link.finish()
}

/// The last one, which sets the batch going, is refused as well.
fn refuses_inputs_alone(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let calls = batch(&mut link, bench, &[plain(20), misfit(), plain(22), misfit()]);
    for refused in [calls[1], calls[3]] {
        link.error(58, refused, code::INVALID_INPUT)?;
    }
    ends_with(&mut link, calls[0], 20, 2)?;
    ends_with(&mut link, calls[2], 22, 2)?;
    for refused in batch(&mut link, bench, &[misfit(), misfit()]) {
        link.error(58, refused, code::INVALID_INPUT)?;
    }
    alone(&mut link, bench)?;
    link.finish()
}

/// One has come, one has not. A worker that had no time yet to read its control lane gets more.
fn leaves_out_who_was_cancelled_before(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let mut came = String::new();
    for turn in 0..6_u32 {
        let frames = frames(&mut link, bench, &[plain(30), plain(31), plain(32)]);
        let time = Duration::from_millis(20 << (2 * turn));
        link.send(Lane::Data, &frames[0]);
        link.count(time, |_| false)?;
        link.cancel(frames[0].seq);
        link.cancel(frames[2].seq);
        link.count(time, |_| false)?;
        link.send(Lane::Data, &frames[1]);
        link.send(Lane::Data, &frames[2]);
        let mut answers = Vec::new();
        for frame in &frames {
            answers.push(link.answer(58, "an end of each call of a batch", frame.seq)?);
        }
        let fits = is_cancelled(&answers[0]) && is_cancelled(&answers[2]) && gives(&answers[1], 31, 1);
        if fits {
            return link.finish();
        }
        came = answers.iter().map(describe).collect::<Vec<_>>().join(", ");
    }
    Err(Breach::new(
        58,
        "CANCELLED for who was cancelled before the batch began, RESULT of 1 for the other",
        came,
    ))
}

/// No result is anybody's, and the worker lives on.
fn tells_all_of_results_that_are_too_few(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    for count in [3, 1] {
        let inputs: Vec<Value> = (60..60 + count).map(short).collect();
        for seq in batch(&mut link, bench, &inputs) {
            link.error(58, seq, code::INVALID_RESULT)?;
        }
    }
    alone(&mut link, bench)?;
    link.finish()
}

fn lets_one_go_while_the_batch_runs(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    let calls = begun(&mut link, bench, &[waits(40), plain(41), plain(42)])?;
    link.cancel(calls[1]);
    let gone = link.answer(59, "ERROR CANCELLED while the batch runs", calls[1])?;
    ensure(is_cancelled(&gone), 59, "ERROR CANCELLED while the batch runs", || describe(&gone))?;
    let ended = link.count(Duration::ZERO, |frame| {
        calls.contains(&frame.seq) && matches!(frame.kind, Kind::Result | Kind::Error)
    })?;
    ensure(ended == 0, 59, "that the others of the batch run on", || "their end".to_owned())?;
    alone(&mut link, bench)?;
    for (seq, number) in [(calls[0], 40), (calls[2], 42)] {
        let answer = link.answer(59, "RESULT for who was not cancelled", seq)?;
        let fits = gives(&answer, number, 3);
        ensure(fits, 59, &format!("{{\"number\": {number}, \"of\": 3}}"), || describe(&answer))?;
    }
    link.finish()
}

fn stops_when_the_last_is_cancelled(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    let calls = begun(&mut link, bench, &[waits(50), plain(51)])?;
    link.cancel(calls[0]);
    let gone = link.answer(59, "ERROR CANCELLED while the batch runs", calls[0])?;
    ensure(is_cancelled(&gone), 59, "ERROR CANCELLED while the batch runs", || describe(&gone))?;
    link.cancel(calls[1]);
    let last = link.answer(59, "the end of the last call of a batch", calls[1])?;
    let fits = is_cancelled(&last) || last.kind == Kind::Result;
    ensure(fits, 59, "ERROR CANCELLED, or RESULT", || describe(&last))?;
    link.finish()
}

/// A call without `batch` is a batch of one; it ends the wait of another.
fn alone(link: &mut Link, bench: &Bench) -> Kept {
    let seq = link.call(&bench.function("check_batch"), &plain(1));
    ends_with(link, seq, 1, 1)
}

/// A batch that has said that it runs.
fn begun(link: &mut Link, bench: &Bench, inputs: &[Value]) -> Kept<Vec<u64>> {
    let calls = batch(link, bench, inputs);
    let told = |_: Lane, frame: &Frame| frame.kind == Kind::Progress && calls.contains(&frame.seq);
    link.wait(38, "PROGRESS of check_batch", told)?;
    Ok(calls)
}

fn batch(link: &mut Link, bench: &Bench, inputs: &[Value]) -> Vec<u64> {
    let frames = frames(link, bench, inputs);
    for frame in &frames {
        link.send(Lane::Data, frame);
    }
    frames.iter().map(|frame| frame.seq).collect()
}

fn frames(link: &mut Link, bench: &Bench, inputs: &[Value]) -> Vec<Frame> {
    let function = bench.function("check_batch");
    let seqs: Vec<u64> = inputs.iter().map(|_| link.next_seq()).collect();
    let count = u32::try_from(seqs.len()).expect("a trial's batch is small");
    let call = Call { batch: Some(InBatch { first: seqs[0], count }), ..Call::new(&function) };
    let frame = |(seq, input): (&u64, &Value)| {
        let frame = Frame::new(Kind::Call, *seq).with_body(call.encode());
        frame.with_payload(Encoding::MessagePack, input.encode())
    };
    seqs.iter().zip(inputs).map(frame).collect()
}

fn ends_with(link: &mut Link, seq: u64, number: i64, of: i64) -> Kept {
    let result = link.result(58, seq)?;
    let expected = format!("{{\"number\": {number}, \"of\": {of}}}");
    ensure(gives(&result, number, of), 58, &expected, || describe(&result))
}

fn gives(frame: &Frame, number: i64, of: i64) -> bool {
    let told = decoded(frame).unwrap_or(Value::Nil).to_json();
    frame.kind == Kind::Result && told["number"] == number && told["of"] == of
}

fn plain(number: i64) -> Value {
    asked(number.into(), false, false)
}

fn fails(number: i64) -> Value {
    asked(number.into(), true, false)
}

fn waits(number: i64) -> Value {
    asked(number.into(), false, true)
}

fn short(number: i64) -> Value {
    let Value::Map(mut entries) = plain(number) else { unreachable!("it is asked with a map") };
    entries.push(("short".to_owned(), true.into()));
    Value::Map(entries)
}

fn misfit() -> Value {
    asked("a text".into(), false, false)
}

fn asked(number: Value, fail: bool, wait: bool) -> Value {
    let entries = [("number", number), ("fail", fail.into()), ("wait", wait.into())];
    Value::Map(entries.map(|(name, value)| (name.to_owned(), value)).to_vec())
}
