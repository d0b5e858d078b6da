//! What headers and bodies may look like, and what a worker must not put up with.

use ganger_protocol::message::Call;
use ganger_protocol::{Flags, Frame, HEADER_LENGTH, Kind, Lane, MAX_BODY_LENGTH, Value};

use super::{Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Breach, Kept};
use crate::check::link::Link;
use crate::rules::Rule;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[4], &[], ignores_reserved_bytes_and_unknown_flags),
    trial(&[5], &[], ignores_what_bodies_have_beyond),
    trial(&[5], &[], reads_an_empty_stop),
    trial(&[5], &[], reads_bodies_64_levels_deep),
    trial(&[41], &[], skips_unknown_kinds),
    trial(&[4], &[], refuses_a_body_longer_than_its_frame),
    trial(&[5], &[], refuses_bytes_after_a_body),
    trial(&[5], &[], refuses_bodies_65_levels_deep),
    trial(&[6], &[], refuses_a_body_beyond_16_mib),
    trial(&[3], &[], refuses_frames_on_the_wrong_lane),
    trial(&[3], &[], refuses_frames_that_go_the_other_way),
    trial(&[7], &[], refuses_a_seq_that_does_not_rise),
    trial(&[40], &[], refuses_a_critical_frame_of_an_unknown_kind),
    trial(&[40], &[], refuses_bodies_of_wrong_types),
];

/// A kind that no version has.
const UNKNOWN_KIND: u8 = 200;

fn ignores_reserved_bytes_and_unknown_flags(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.next_seq();
    let ping = Frame { flags: Flags(0x80), ..Frame::new(Kind::Ping, seq) };
    link.ledger.sent(&ping);
    let mut bytes = ping.to_bytes();
    bytes[14..16].copy_from_slice(&[1, 2]);
    link.send_bytes(Lane::Data, &bytes);
    link.wait(4, "PONG to a PING with reserved bytes and an unknown flag", |_, frame| {
        frame.kind == Kind::Pong && frame.seq == seq
    })?;
    link.finish()
}

fn ignores_what_bodies_have_beyond(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.next_seq();
    // A kind without a body ignores one.
    let ping = Frame::new(Kind::Ping, seq).with_body(Value::from("ignored").encode());
    link.send(Lane::Data, &ping);
    link.wait(5, "PONG to a PING with a body", |_, frame| frame.kind == Kind::Pong)?;
    let seq = link.next_seq();
    let (later, nil) = ([Value::from("later"), 7.into()], Value::Nil);
    let known = [NOBODY.into(), 1.into(), nil.clone(), 0.into(), nil.clone(), nil];
    let fields = [&known[..], &later].concat();
    let call = Frame::new(Kind::Call, seq).with_body(Value::List(fields).encode());
    link.send(Lane::Data, &call.with_payload(ganger_protocol::Encoding::MessagePack, Value::Nil.encode()));
    link.answer(5, "an answer to a CALL with fields of a later version", seq)?;
    // An empty CANCEL of a call that has ended.
    link.send(Lane::Control, &Frame::new(Kind::Cancel, seq));
    link.ping(5)?;
    link.finish()
}

fn reads_an_empty_stop(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.send(Lane::Data, &Frame::new(Kind::Stop, 0));
    link.exits_with(5, 0)
}

fn reads_bodies_64_levels_deep(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.send(Lane::Data, &Frame::new(Kind::Stop, 0).with_body(nested(64)));
    link.exits_with(5, 0)
}

fn refuses_bodies_65_levels_deep(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.send(Lane::Data, &Frame::new(Kind::Stop, 0).with_body(nested(65)));
    link.refuses(5, "a body that nests 65 levels")
}

/// A map with an unknown key that holds lists in lists.
fn nested(levels: usize) -> Vec<u8> {
    let mut value = Value::Nil;
    for _ in 1..levels {
        value = Value::List(vec![value]);
    }
    Value::Map(vec![("later".to_owned(), value)]).encode()
}

fn skips_unknown_kinds(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    for lane in [Lane::Data, Lane::Control] {
        let mut bytes = Frame::new(Kind::Chunk, 0).with_body(vec![0xc1]).to_bytes();
        bytes.extend_from_slice(b"payload");
        bytes[..8].copy_from_slice(&8_u64.to_le_bytes());
        bytes[12] = UNKNOWN_KIND;
        link.send_bytes(lane, &bytes);
    }
    link.ping(41)?;
    link.finish()
}

fn refuses_a_critical_frame_of_an_unknown_kind(bench: &Bench) -> Kept {
    for lane in [Lane::Data, Lane::Control] {
        let mut link = bench.ready(&Setup::default())?;
        let mut bytes = Frame { flags: Flags::CRITICAL, ..Frame::new(Kind::Chunk, 0) }.to_bytes();
        bytes[12] = UNKNOWN_KIND;
        link.send_bytes(lane, &bytes);
        link.refuses(40, "a critical frame of an unknown kind")?;
    }
    Ok(())
}

fn refuses_a_body_longer_than_its_frame(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let mut bytes = Frame::new(Kind::Ping, 1).to_bytes();
    bytes[8..12].copy_from_slice(&5_u32.to_le_bytes());
    link.send_bytes(Lane::Data, &bytes);
    link.refuses(4, "a header with more body than frame")
}

fn refuses_bytes_after_a_body(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let mut body = Call::new(NOBODY).encode();
    body.push(0xc0);
    let call = Frame::new(Kind::Call, link.next_seq()).with_body(body);
    link.send(Lane::Data, &call);
    link.refuses(5, "a body with bytes after its value")
}

fn refuses_a_body_beyond_16_mib(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let length = MAX_BODY_LENGTH + 1;
    let mut head = [0; HEADER_LENGTH];
    head.copy_from_slice(&Frame::new(Kind::Ping, 1).to_bytes());
    head[..8].copy_from_slice(&u64::from(length).to_le_bytes());
    head[8..12].copy_from_slice(&length.to_le_bytes());
    link.send_bytes(Lane::Data, &head);
    link.send_bytes(Lane::Data, &vec![0xc0; length as usize]);
    link.refuses(6, "a body of more than 16 MiB")
}

fn refuses_frames_on_the_wrong_lane(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.send_bytes(Lane::Control, &Frame::new(Kind::Ping, 1).to_bytes());
    link.refuses(3, "PING on control")?;
    let mut link = bench.ready(&Setup::default())?;
    link.send_bytes(Lane::Data, &Frame::new(Kind::Cancel, 1).to_bytes());
    link.refuses(3, "CANCEL on data")
}

fn refuses_frames_that_go_the_other_way(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    link.send_bytes(Lane::Data, &Frame::new(Kind::Pong, 1).to_bytes());
    link.refuses(3, "PONG from the host")
}

fn refuses_a_seq_that_does_not_rise(bench: &Bench) -> Kept {
    for second in [5, 4] {
        let mut link = bench.ready(&Setup::default())?;
        let ping = |seq| Frame::new(Kind::Ping, seq);
        link.send(Lane::Data, &ping(5));
        link.wait(34, "PONG", |_, frame| frame.kind == Kind::Pong)?;
        link.send(Lane::Data, &ping(second));
        link.refuses(7, &format!("PING with seq {second} after 5"))?;
    }
    Ok(())
}

fn refuses_bodies_of_wrong_types(bench: &Bench) -> Kept {
    let wrong = |link: &mut Link, kind: Kind, body: Value| {
        let seq = if kind == Kind::Stop { 0 } else { link.next_seq() };
        let lane = kind.lane();
        link.send(lane, &Frame::new(kind, seq).with_body(body.encode()));
    };
    let bodies = [
        (Kind::Call, Value::List(vec![5.into()]), "CALL whose function is a number"),
        (Kind::Stop, Value::List(Vec::new()), "STOP whose body is a list"),
        (Kind::Cancel, Value::Map(Vec::new()), "CANCEL whose body is a map"),
    ];
    for (kind, body, what) in bodies {
        let mut link = bench.ready(&Setup::default())?;
        wrong(&mut link, kind, body);
        link.refuses(40, what)?;
    }
    Ok(())
}

/// A rule that a wait for something else may show broken.
pub(super) fn as_rule(rule: Rule) -> impl Fn(Breach) -> Breach {
    move |breach| Breach { rule, ..breach }
}

/// A function that no worker has.
pub(super) const NOBODY: &str = "check_no_such_function";
