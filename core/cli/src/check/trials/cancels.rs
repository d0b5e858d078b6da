//! Cancels: of what runs, of what has ended, and of what has not come yet.

use std::time::Duration;

use ganger_protocol::{Frame, Kind, Value};

use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Breach, Kept, ensure};
use crate::check::describe::describe;
pub(super) use crate::check::ledger::is_cancelled;
use crate::check::link::Link;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[26], &[], ignores_late_cancels),
    trial(&[26], &[Need::Function("check_echo")], remembers_early_cancels),
    trial(&[25, 27, 28], &[Need::Function("check_wait")], stops_a_cancelled_call),
    trial(&[25], &[Need::Function("check_wait"), Need::Function("check_echo")], spares_the_neighbours),
];

fn ignores_late_cancels(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(super::frames::NOBODY, &Value::Nil);
    link.answer(8, "an answer", seq)?;
    link.cancel(seq);
    let ping = link.next_seq();
    link.send(ganger_protocol::Lane::Data, &Frame::new(Kind::Ping, ping));
    link.cancel(ping);
    let pong = |_, frame: &Frame| frame.kind == Kind::Pong && frame.seq == ping;
    link.wait(26, "PONG, whether its PING was cancelled or not", pong)?;
    link.ping(26)?;
    // Whoever knows of a later cancel has read the earlier ones.
    answer_to_an_early_cancel(&mut link, super::frames::NOBODY)?;
    link.finish()
}

fn remembers_early_cancels(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let answer = answer_to_an_early_cancel(&mut link, &bench.function("check_echo"))?;
    let expected = "ERROR CANCELLED for a call that was cancelled before it came";
    ensure(is_cancelled(&answer), 26, expected, || describe(&answer))?;
    link.finish()
}

/// Nothing says that the worker has read its control lane: a worker that had no time yet gets more.
fn answer_to_an_early_cancel(link: &mut Link, function: &str) -> Kept<Frame> {
    for turn in 0.. {
        let call = link.call_frame(function, &Value::Nil);
        link.cancel(call.seq);
        link.count(Duration::from_millis(20 << (2 * turn)), |_| false)?;
        link.send(ganger_protocol::Lane::Data, &call);
        let answer = link.answer(26, "ERROR CANCELLED", call.seq)?;
        if is_cancelled(&answer) || turn == 5 {
            return Ok(answer);
        }
    }
    unreachable!("there is an end to patience")
}

fn stops_a_cancelled_call(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    for _ in 0..2 {
        let seq = begun(&mut link, &bench.function("check_wait"))?;
        link.cancel(seq);
        link.cancel(seq);
        let answer = link.answer(27, "the end of a cancelled call", seq);
        let answer = answer.map_err(|breach| match (breach.rule, link.has_ended()) {
            (27, true) => Breach { rule: 28, ..breach },
            (_, _) => breach,
        })?;
        let fits = is_cancelled(&answer) || answer.kind == Kind::Result;
        ensure(fits, 25, "ERROR CANCELLED, or RESULT", || describe(&answer))?;
        link.ping(28)?;
    }
    link.finish()
}

fn spares_the_neighbours(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    let wait = bench.function("check_wait");
    let (one, other) = (begun(&mut link, &wait)?, begun(&mut link, &wait)?);
    link.cancel(one);
    link.answer(25, "the end of a cancelled call", one)?;
    let seq = link.call(&bench.function("check_echo"), &1.into());
    link.result(25, seq)?;
    let ended = link.count(Duration::ZERO, |frame| {
        frame.seq == other && matches!(frame.kind, Kind::Result | Kind::Error)
    })?;
    ensure(ended == 0, 25, "that the other call runs on", || "its end".to_owned())?;
    link.cancel(other);
    link.answer(25, "the end of a cancelled call", other)?;
    link.finish()
}

/// A call of `check_wait` that has said that it runs.
pub(super) fn begun(link: &mut Link, wait: &str) -> Kept<u64> {
    let seq = link.call(wait, &Value::Nil);
    link.wait(38, "PROGRESS of check_wait", |_, frame| frame.kind == Kind::Progress && frame.seq == seq)?;
    Ok(seq)
}
