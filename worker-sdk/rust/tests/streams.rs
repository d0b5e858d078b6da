//! Streams of a real worker process, both ways.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "the other suite uses the rest of the host")]

mod host;

use ganger_protocol::message::{Contract, Credit, FunctionKind, Ready, code};
use ganger_protocol::{Assembler, Encoding, Frame, Kind, Limits, Value, split_into_chunks};
use host::Host;
use serde_json::{Value as Json, json};

fn item(host: &mut Host, seq: u64) -> Json {
    let item = host.data.expect(Kind::Item);
    assert_eq!(item.seq, seq);
    Value::decode(&item.payload).unwrap().to_json()
}

fn input(host: &mut Host, seq: u64, value: i64) {
    let payload = Value::from(value).encode();
    host.data.send(&Frame::new(Kind::Input, seq).with_payload(Encoding::MessagePack, payload));
}

fn input_end(host: &mut Host, seq: u64) {
    host.data.send(&Frame::new(Kind::InputEnd, seq));
}

fn credit(host: &mut Host, seq: u64, items: u32) {
    let credit = Credit { items, bytes: items.into() };
    host.control.send(&Frame::new(Kind::Credit, seq).with_body(credit.encode()));
}

fn expect_credit(host: &mut Host, seq: u64) -> Credit {
    let frame = host.control.expect(Kind::Credit);
    assert_eq!(frame.seq, seq);
    Credit::decode(&frame.body).unwrap()
}

#[test]
fn a_stream_waits_for_credit_and_other_calls_do_not() {
    let mut host = Host::start(2);
    let stream = host.call("count", 100);
    for expected in 0..64 {
        let item = host.data.expect(Kind::Item);
        assert_eq!(Value::decode(&item.payload), Ok(Value::from(expected)));
    }
    let quick = host.call("parse", "1");
    assert_eq!(host.result(quick), json!(1));
    host.control.send(&Frame::new(Kind::Credit, stream).with_body(Credit { items: 50, bytes: 100 }.encode()));
    for expected in 64..100 {
        let item = host.data.expect(Kind::Item);
        assert_eq!(Value::decode(&item.payload), Ok(Value::from(expected)));
    }
    assert_eq!(host.result(stream), json!(null));
    let stream = host.call("count", 1000);
    (0..64).for_each(|_| drop(host.data.expect(Kind::Item)));
    host.cancel(stream);
    assert_eq!(host.error(stream).code, code::CANCELLED);
}

#[test]
fn a_stream_that_returns_an_error_ends_with_it_after_the_items_that_were_sent() {
    let mut host = Host::start(1);
    let seq = host.call("words_of", "/no/such/file");
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.error_type.as_str()), (code::CALL_FAILED, "std::io::Error"));
    let seq = host.call("sent", 2);
    assert_eq!((item(&mut host, seq), item(&mut host, seq)), (json!(0), json!(1)));
    let report = host.error(seq);
    assert_eq!((report.error_type.as_str(), report.message.as_str()), ("Spent", "no more"));
    let seq = host.call("sent", 0);
    assert_eq!(host.result(seq), json!(null), "without an item");
}

#[test]
fn a_stream_may_be_a_result_of_an_iterator() {
    let mut host = Host::start(1);
    let path = std::env::temp_dir().join(format!("words-{}", std::process::id()));
    std::fs::write(&path, "one two").unwrap();
    let seq = host.call("words_of", path.to_str().unwrap());
    assert_eq!((item(&mut host, seq), item(&mut host, seq)), (json!("one"), json!("two")));
    assert_eq!(host.result(seq), json!(null));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn parameters_say_what_a_function_reads_and_writes() {
    let mut host = Host::spawn(&[]);
    host.control.expect(Kind::Hello);
    host.welcome(1);
    host.data.expect(Kind::Log);
    let ready = Ready::decode(&host.data.expect(Kind::Ready).body).unwrap();
    let of =
        |name: &str| -> &Contract { ready.functions.iter().find(|contract| contract.name == name).unwrap() };
    let says = |name| (of(name).kind, of(name).inputs.is_some());
    assert_eq!(says("parse"), (FunctionKind::Value, false));
    assert_eq!(says("count"), (FunctionKind::Stream, false));
    assert_eq!(says("sum"), (FunctionKind::Value, true));
    assert_eq!(says("scan"), (FunctionKind::Stream, true));
}

#[test]
fn a_function_reads_what_comes_while_it_runs_even_where_one_runs_at_a_time() {
    for concurrency in [1, 2] {
        let mut host = Host::start(concurrency);
        for round in 0..3 {
            let seq = host.call("sum", round);
            (1..=3).for_each(|value| input(&mut host, seq, value));
            let pinged = host.ping();
            assert_eq!(host.data.expect(Kind::Pong).seq, pinged);
            input_end(&mut host, seq);
            assert_eq!(host.result(seq), json!(6 + round));
        }
    }
}

#[test]
fn credit_comes_back_as_items_are_read() {
    let mut host = Host::start(1);
    let seq = host.call("sum", 0);
    (0..64).for_each(|_| input(&mut host, seq, 1));
    for _ in 0..2 {
        assert_eq!(expect_credit(&mut host, seq), Credit { items: 32, bytes: 32 });
    }
    input_end(&mut host, seq);
    assert_eq!(host.result(seq), json!(64));
}

#[test]
fn items_go_both_ways_at_once() {
    for function in both_ways() {
        let mut host = Host::start(1);
        let seq = host.call(function, Value::Nil);
        let mut sum = 0;
        for value in 0..200 {
            input(&mut host, seq, value);
            sum += value;
            assert_eq!(item(&mut host, seq), json!(sum), "{function}");
            if value % 32 == 31 {
                credit(&mut host, seq, 32);
                expect_credit(&mut host, seq);
            }
        }
        input_end(&mut host, seq);
        assert_eq!(host.result(seq), json!(null), "{function}");
    }
}

#[test]
fn a_cancel_reaches_who_waits_for_an_item_or_for_credit() {
    for function in both_ways() {
        let mut host = Host::start(1);
        let seq = host.call(function, Value::Nil);
        input(&mut host, seq, 1);
        item(&mut host, seq);
        host.cancel(seq);
        assert_eq!(host.error(seq).code, code::CANCELLED, "{function}: it waited for an item");
        let seq = host.call(function, Value::Nil);
        (0..64).for_each(|_| input(&mut host, seq, 1));
        for _ in 0..2 {
            expect_credit(&mut host, seq);
        }
        (0..64).for_each(|_| drop(item(&mut host, seq)));
        input(&mut host, seq, 1);
        host.cancel(seq);
        assert_eq!(host.error(seq).code, code::CANCELLED, "{function}: it waited for credit");
    }
}

#[test]
fn what_a_function_does_not_read_is_dropped() {
    let mut host = Host::start(1);
    let seq = host.call("first", 2);
    (0..64).for_each(|value| input(&mut host, seq, value));
    assert_eq!(host.result(seq), json!([0, 1]));
    input_end(&mut host, seq);
    let seq = host.call("parse", "7");
    input(&mut host, seq, 1);
    input_end(&mut host, seq);
    assert_eq!(host.result(seq), json!(7));
}

#[test]
fn an_item_that_does_not_fit_is_told_with_its_place_where_it_is_read() {
    let mut host = Host::start(1);
    let seq = host.call("sum", 0);
    input(&mut host, seq, 1);
    let text = Value::from("two").encode();
    host.data.send(&Frame::new(Kind::Input, seq).with_payload(Encoding::MessagePack, text));
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_INPUT, Some("$")));
    let seq = host.call("sum", 0);
    input_end(&mut host, seq);
    assert_eq!(host.result(seq), json!(0));
}

#[test]
fn a_long_item_comes_in_pieces() {
    let mut host = Host::start(1);
    let seq = host.call("first", 1);
    let numbers = Value::List((0..1000).map(Value::from).collect()).encode();
    let long = Frame::new(Kind::Input, seq).with_payload(Encoding::MessagePack, numbers);
    split_into_chunks(long, 100).for_each(|piece| host.data.send(&piece));
    assert_eq!(host.error(seq).code, code::INVALID_INPUT, "it came whole, and is no number");
}

#[test]
fn a_long_item_goes_in_pieces_where_others_may_send_between_them() {
    for (concurrency, in_pieces) in [(1, false), (2, true)] {
        let mut host = Host::start(concurrency);
        let seq = host.call("long", 3_000_000);
        let mut assembler = Assembler::new(Limits::default());
        let mut pieces = 0;
        let item = loop {
            let frame = host.data.receive().unwrap();
            pieces += 1;
            if let Some(item) = assembler.accept(frame).unwrap() {
                break item;
            }
        };
        assert_eq!((item.kind, item.seq, pieces > 1), (Kind::Item, seq, in_pieces));
        assert!(item.payload.len() == 3_000_000 && item.payload.iter().all(|byte| *byte == 7));
        assert_eq!(host.result(seq), json!(null));
    }
}

#[cfg(feature = "async")]
#[test]
fn an_asynchronous_stream_waits_for_credit_and_stops_when_cancelled() {
    let mut host = Host::start(1);
    let seq = host.call("count_async", 100);
    for expected in 0..64 {
        assert_eq!(item(&mut host, seq), json!(expected));
    }
    credit(&mut host, seq, 100);
    for expected in 64..100 {
        assert_eq!(item(&mut host, seq), json!(expected));
    }
    assert_eq!(host.result(seq), json!(null));
    let seq = host.call("count_async", 1000);
    (0..64).for_each(|_| drop(item(&mut host, seq)));
    host.cancel(seq);
    assert_eq!(host.error(seq).code, code::CANCELLED);
}

/// Functions that read one stream while they write another.
fn both_ways() -> Vec<&'static str> {
    if cfg!(feature = "async") { vec!["scan", "scan_async"] } else { vec!["scan"] }
}
