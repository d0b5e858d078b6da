//! Values and sizes: what goes there must come back, and what is too much fails one call.

use ganger_protocol::message::code;
use ganger_protocol::{Bytes, Encoding, Flags, Frame, Kind, Lane, Value};

use super::frames::as_rule;
use super::{Need, Trial, trial};
use crate::check::bench::{Bench, Setup};
use crate::check::breach::{Kept, ensure};
use crate::check::describe::describe;
use crate::check::link::Link;
use crate::rules::Rule;

pub(super) const TRIALS: &[Trial] = &[
    trial(&[39], &[Need::Function("check_echo")], returns_values_as_they_are),
    trial(&[19, 39], &[Need::Function("check_echo")], refuses_what_is_no_value),
    trial(&[23], &[Need::Function("check_echo")], takes_raw_bytes_and_no_unknown_encoding),
    trial(&[23], &[Need::Function("check_echo"), Need::NotPython], takes_no_pickles),
    trial(&[6], &[Need::Function("check_bytes")], sends_no_more_than_the_host_takes),
    trial(&[24, 35], &[Need::Function("check_bytes")], writes_its_answer_before_it_ends),
];

fn returns_values_as_they_are(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let echo = bench.function("check_echo");
    let deep = (0..50).fold(Value::Nil, |value, _| Value::List(vec![value]));
    let values = [
        Value::Nil,
        Value::Bool(true),
        Value::Integer(-1),
        Value::Integer(i64::MIN),
        Value::Unsigned(u64::MAX),
        Value::Float(0.1),
        Value::String("grün 🦀".to_owned()),
        Value::Bytes(vec![0, 255]),
        // Inside of a list: a map alone may be spread over a function's parameters.
        Value::List(vec![Value::Map(vec![("a".to_owned(), Value::List(vec![1.into()]))])]),
        deep,
    ];
    for value in values {
        let seq = link.call(&echo, &value);
        let came = link.result(39, seq)?;
        let expected = format!("{} from check_echo", value.to_json());
        ensure(decoded(&came) == Some(value), 39, &expected, || describe(&came))?;
    }
    link.finish()
}

fn refuses_what_is_no_value(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    // A byte that MessagePack does not use, a cut string, two values, an extension, a key that is no string.
    let payloads: [(Rule, &'static [u8]); 5] = [
        (19, &[0xc1]),
        (19, &[0xa5, b'a']),
        (19, &[0x01, 0x02]),
        (39, &[0xd4, 0x05, 0x00]),
        (39, &[0x81, 0x01, 0x02]),
    ];
    for (rule, payload) in payloads {
        let seq = send(&mut link, bench, Encoding::MessagePack, payload);
        link.error(rule, seq, code::INVALID_INPUT)?;
    }
    link.finish()
}

fn takes_raw_bytes_and_no_unknown_encoding(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = send(&mut link, bench, Encoding::Raw, b"\x00raw");
    let came = link.result(23, seq)?;
    let expected = "the bytes that were sent raw";
    ensure(decoded(&came) == Some(Value::Bytes(b"\x00raw".to_vec())), 23, expected, || describe(&came))?;
    let mut call = link.call_frame(&bench.function("check_echo"), &Value::Nil);
    call.flags = Flags(call.flags.0 | 0x30);
    link.send(Lane::Data, &call);
    link.error(23, call.seq, code::INVALID_INPUT)?;
    link.finish()
}

fn takes_no_pickles(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = send(&mut link, bench, Encoding::Pickle5, b"\x80\x05N.");
    link.error(23, seq, code::INVALID_INPUT)?;
    link.finish()
}

fn sends_no_more_than_the_host_takes(bench: &Bench) -> Kept {
    let mut setup = Setup::default();
    setup.welcome.max_payload = 65_536;
    let mut link = bench.ready(&setup)?;
    let bytes = bench.function("check_bytes");
    let seq = link.call(&bytes, &60_000.into());
    link.result(6, seq)?;
    let seq = link.call(&bytes, &65_537.into());
    link.error(6, seq, code::PAYLOAD_TOO_LARGE)?;
    link.ping(6)?;
    link.finish()
}

fn writes_its_answer_before_it_ends(bench: &Bench) -> Kept {
    let mut link = bench.ready(&Setup::default())?;
    let seq = link.call(&bench.function("check_bytes"), &4_000_000.into());
    link.stop();
    let came = link.result(24, seq)?;
    let whole = matches!(decoded(&came), Some(Value::Bytes(bytes)) if bytes.len() == 4_000_000);
    ensure(whole, 24, "4 000 000 bytes, although STOP followed", || describe(&came))?;
    link.exits_with(35, 0).map_err(as_rule(35))
}

fn send(link: &mut Link, bench: &Bench, encoding: Encoding, payload: &'static [u8]) -> u64 {
    let call = link.call_frame(&bench.function("check_echo"), &Value::Nil);
    let call =
        Frame { payload: Bytes::from_static(payload), flags: call.flags.with_encoding(encoding), ..call };
    link.send(Lane::Data, &call);
    call.seq
}

/// The value of an answer, whichever way bytes travel.
pub(super) fn decoded(frame: &Frame) -> Option<Value> {
    match (frame.kind, frame.flags.encoding()?) {
        (Kind::Result | Kind::Item, Encoding::Raw) => Some(Value::Bytes(frame.payload.to_vec())),
        (Kind::Result | Kind::Item, Encoding::MessagePack) => Value::decode(&frame.payload).ok(),
        (_, _) => None,
    }
}
