//! Items that a function yields, and the credit that bounds them.

use std::time::Duration;

use ganger_protocol::message::{FunctionKind, code};
use ganger_protocol::{Frame, Kind, Lane, STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS, Value};

use super::cancels::is_cancelled;
use super::payloads::decoded;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[29, 49], &[Need::Streams], yields_items_in_order),
    trial(&[29, 30, 49, 52], &[Need::Streams, Need::Function("check_echo")], waits_for_credit),
    trial(&[29], &[Need::Streams], counts_bytes_too),
    trial(&[49], &[Need::Streams], fails_after_its_items),
    trial(&[31], &[Need::NoStreams], lists_what_it_cannot_stream),
];

/// A window without a frame that shows that a worker waits: one that does not sends at once.
const WINDOW: Duration = Duration::from_millis(300);

fn yields_items_in_order(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = count(&mut link, bench, 10, 0, false);
    for number in 0..10 {
        let item = item(&mut link, seq)?;
        let same = decoded(&item) == Some(Value::Integer(number));
        ensure(same, 49, &format!("the item {number}"), || describe(&item))?;
    }
    link.result(29, seq)?;
    link.finish()
}

fn waits_for_credit(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::roomy())?;
    let seq = count(&mut link, bench, 1000, 0, false);
    for _ in 0..STREAM_CREDIT_ITEMS {
        item(&mut link, seq)?;
    }
    starves(&mut link, seq, "64 items before any CREDIT")?;
    let other = link.call(&bench.function("check_echo"), &1.into());
    link.result(30, other)?;
    link.credit(seq, 10, 1000);
    for _ in 0..10 {
        item(&mut link, seq)?;
    }
    starves(&mut link, seq, "10 items for a CREDIT of 10")?;
    link.cancel(seq);
    let end = link.answer(30, "the end of a cancelled stream without credit", seq)?;
    ensure(is_cancelled(&end) || end.kind == Kind::Result, 30, "ERROR CANCELLED", || describe(&end))?;
    link.finish()
}

fn counts_bytes_too(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    // Five bytes of MessagePack go before a mebibyte, if it does not travel raw: four of them use the credit up, either way.
    let seq = count(&mut link, bench, 20, 1 << 20, false);
    for _ in 0..STREAM_CREDIT_BYTES >> 20 {
        item(&mut link, seq)?;
    }
    starves(&mut link, seq, "4 MiB before any CREDIT")?;
    link.credit(seq, 0, 1 << 20);
    item(&mut link, seq)?;
    starves(&mut link, seq, "one item more for a CREDIT of 1 MiB")?;
    link.cancel(seq);
    link.answer(30, "the end of a cancelled stream without credit", seq)?;
    link.finish()
}

fn fails_after_its_items(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = count(&mut link, bench, 3, 0, true);
    for _ in 0..3 {
        item(&mut link, seq)?;
    }
    link.error(49, seq, code::CALL_FAILED)?;
    link.finish()
}

fn lists_what_it_cannot_stream(bench: &Bench) -> Kept {
    let says = bench.functions.iter().find(|contract| contract.name == bench.function("check_count"));
    let value = says.is_some_and(|contract| contract.kind == FunctionKind::Value);
    ensure(value, 31, "the kind value in the contract of check_count", || "the kind stream".to_owned())?;
    let mut link = bench.ready(&Setup::default())?;
    let seq = count(&mut link, bench, 3, 0, false);
    let list = link.result(31, seq)?;
    let items = Value::List((0..3).map(Value::Integer).collect());
    ensure(decoded(&list) == Some(items), 31, "RESULT with the list of its items", || describe(&list))?;
    link.finish()
}

/// Whether `check_count` sends items.
pub(in crate::check) fn streams(bench: &Bench) -> Kept<Option<bool>> {
    if bench.named("check_count").is_none() {
        return Ok(None);
    }
    let mut link = bench.ready(&Setup::default())?;
    let seq = count(&mut link, bench, 1, 0, false);
    let first = |_: Lane, frame: &Frame| {
        frame.seq == seq && matches!(frame.kind, Kind::Item | Kind::Result | Kind::Error)
    };
    let frame = link.wait(31, "ITEM, or RESULT with a list", first)?;
    Ok(Some(frame.kind == Kind::Item))
}

fn count(link: &mut Link, bench: &Bench, count: i64, bytes: i64, fail: bool) -> u64 {
    let input = [("count", count.into()), ("bytes", bytes.into()), ("fail", fail.into())];
    let input = input.map(|(name, value)| (name.to_owned(), value)).to_vec();
    link.call(&bench.function("check_count"), &Value::Map(input))
}

fn item(link: &mut Link, seq: u64) -> Kept<Frame> {
    link.wait(29, "ITEM", |_, frame| frame.kind == Kind::Item && frame.seq == seq)
}

fn starves(link: &mut Link, seq: u64, expected: &str) -> Kept {
    let more = link.count(WINDOW, |frame| frame.seq == seq && frame.kind != Kind::Log)?;
    ensure(more == 0, 29, expected, || format!("{more} more"))
}
