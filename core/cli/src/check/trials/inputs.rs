//! Items that a function reads: the credit for them, and what becomes of those that nobody reads.

use ganger_protocol::message::{Credit, Release, code};
use ganger_protocol::{
    Bytes, Encoding, Flags, Frame, Kind, Lane, STREAM_CREDIT_ITEMS, Value, split_into_chunks,
};

use super::cancels::is_cancelled;
use super::payloads::decoded;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Breach, Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;

const SUM: Need = Need::Inputs("check_sum");

pub(super) const TRIALS: &[Trial] = &[
    trial(&[29, 50], &[SUM], gives_credit_as_it_reads),
    trial(&[9], &[SUM], reads_items_in_pieces),
    trial(&[51], &[], ignores_items_that_nobody_reads),
    trial(&[52], &[SUM], cancels_a_reader_that_waits),
    trial(&[53], &[SUM], says_that_an_item_is_too_large),
    trial(&[53], &[SUM], says_that_an_item_is_no_value),
    trial(&[54], &[SUM, Need::SharedMemory, Need::Linux], gives_the_memory_of_items_back),
];

fn gives_credit_as_it_reads(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_sum"), &Value::Nil);
    let mut credit = STREAM_CREDIT_ITEMS;
    for number in 0..300 {
        if credit == 0 {
            credit = more_credit(&mut link, seq)?;
        }
        item(&mut link, seq, number);
        credit -= 1;
    }
    ends_with_sum(&mut link, seq, 300 * 299 / 2)?;
    link.finish()
}

fn more_credit(link: &mut Link, seq: u64) -> Kept<u32> {
    let given = link.wait(50, "CREDIT for the 32 and more items that it has read", |_, frame| {
        frame.kind == Kind::Credit && frame.seq == seq
    })?;
    let items = Credit::decode(&given.body).unwrap_or_default().items;
    ensure(items > 0, 50, "CREDIT of some items", || describe(&given))?;
    Ok(items)
}

fn reads_items_in_pieces(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_sum"), &Value::Nil);
    let input = Frame::new(Kind::Input, seq);
    // The longest form of 7 has nine bytes: two pieces.
    let long = [0xcf, 0, 0, 0, 0, 0, 0, 0, 7];
    let input = input.with_payload(Encoding::MessagePack, Bytes::copy_from_slice(&long));
    let first = Frame { flags: input.flags.with(Flags::MORE), ..input.clone() };
    let total = [&9_u64.to_le_bytes()[..], &long[..4]].concat();
    link.send(Lane::Data, &Frame { payload: total.into(), ..first });
    let rest = Frame { flags: Flags::NONE, ..Frame::new(Kind::Chunk, seq) };
    link.send(Lane::Data, &Frame { payload: Bytes::copy_from_slice(&long[4..]), ..rest });
    item(&mut link, seq, 1);
    ends_with_sum(&mut link, seq, 8)?;
    link.finish()
}

fn ignores_items_that_nobody_reads(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    item(&mut link, 9, 1);
    link.send(Lane::Data, &Frame::new(Kind::InputEnd, 9));
    let seq = link.call(super::frames::NOBODY, &Value::Nil);
    link.answer(51, "an answer, although items of no call came before", seq)?;
    item(&mut link, seq, 1);
    for piece in split_into_chunks(input(seq, &Value::String("x".repeat(100))), 40) {
        link.send(Lane::Data, &piece);
    }
    link.send(Lane::Data, &Frame::new(Kind::InputEnd, seq));
    link.ping(51)?;
    link.finish()
}

fn cancels_a_reader_that_waits(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_sum"), &Value::Nil);
    // The credit shows that it reads.
    (0..STREAM_CREDIT_ITEMS).for_each(|_| item(&mut link, seq, 1));
    more_credit(&mut link, seq)?;
    link.cancel(seq);
    let answer = link.answer(52, "ERROR CANCELLED for a function that waits for items", seq)?;
    ensure(is_cancelled(&answer), 52, "ERROR CANCELLED, and no end of the items", || describe(&answer))?;
    link.finish()
}

fn says_that_an_item_is_too_large(bench: &Bench) -> Kept {
    let mut setup = Setup::default();
    setup.welcome.max_payload = 1024;
    let mut link = bench.ready(&setup)?;
    let seq = link.call(&bench.function("check_sum"), &Value::Nil);
    link.send(Lane::Data, &input(seq, &Value::String("x".repeat(2000))));
    link.error(53, seq, code::PAYLOAD_TOO_LARGE)?;
    link.ping(53)?;
    link.finish()
}

fn says_that_an_item_is_no_value(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_sum"), &Value::Nil);
    link.send(Lane::Data, &Frame { payload: Bytes::from_static(&[0xc1]), ..Frame::new(Kind::Input, seq) });
    link.send(Lane::Data, &Frame::new(Kind::InputEnd, seq));
    link.error(53, seq, code::INVALID_INPUT)?;
    link.finish()
}

/// Blocks go back one by one, or all of them with the answer.
fn gives_the_memory_of_items_back(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup { shared_memory: true, ..Setup::default() })?;
    let seq = link.call(&bench.function("check_sum"), &Value::Nil);
    let arenas = link.ledger.arenas.as_ref().expect("the trial has agreed on memory");
    let reference = arenas.put(4096, &Value::Integer(41).encode());
    let reference = reference.map_err(|error| Breach::new(54, "memory", error.to_string()))?;
    let shared = Frame { flags: Flags::SHARED, ..Frame::new(Kind::Input, seq) };
    link.send(Lane::Data, &Frame { payload: reference.to_bytes().to_vec().into(), ..shared });
    item(&mut link, seq, 1);
    ends_with_sum(&mut link, seq, 42)?;
    link.stop();
    link.exits_with(35, 0)?;
    for release in link.heard_of(Kind::Release) {
        let offsets = Release::decode(&release.body).unwrap_or_default().offsets;
        let right = release.seq == seq && offsets.iter().all(|offset| *offset == 4096);
        ensure(right, 54, "RELEASE of the item's block, with the call's seq", || describe(&release))?;
    }
    Ok(())
}

fn input(seq: u64, value: &Value) -> Frame {
    Frame::new(Kind::Input, seq).with_payload(Encoding::MessagePack, value.encode())
}

fn item(link: &mut Link, seq: u64, number: i64) {
    link.send(Lane::Data, &input(seq, &Value::Integer(number)));
}

fn ends_with_sum(link: &mut Link, seq: u64, sum: i64) -> Kept {
    link.send(Lane::Data, &Frame::new(Kind::InputEnd, seq));
    let came = link.result(29, seq)?;
    ensure(decoded(&came) == Some(Value::Integer(sum)), 29, "the sum of all items", || describe(&came))
}
