//! A real worker process of functions that take the inputs of several calls at once: each call ends for itself.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "the other suites use the rest of the host")]

mod host;

use ganger_protocol::message::{Batch, Call, InBatch, Progress, Ready, code};
use ganger_protocol::{Encoding, Frame, Kind, Value};
use host::Host;
use serde_json::{Value as Json, json};

/// Sends calls together; gives their numbers.
fn together<const N: usize>(host: &mut Host, first: u64, function: &str, inputs: [Json; N]) -> [u64; N] {
    let batch = Some(InBatch { first, count: u32::try_from(N).unwrap() });
    let call = Call { batch, ..Call::new(function) };
    let seqs = inputs.map(|input| host.call_with(&call, Encoding::MessagePack, Value::from(input).encode()));
    assert_eq!(seqs[0], first);
    seqs
}

/// The codes of the next errors, by the numbers of their calls.
fn errors<const N: usize>(host: &mut Host, seqs: [u64; N]) -> [String; N] {
    seqs.map(|seq| host.error(seq).code)
}

/// A batch that has said that it runs.
fn lingering(host: &mut Host, milliseconds: u64) -> [u64; 3] {
    let seqs = together(host, 1, "linger", [milliseconds.into(), json!(2), json!(3)]);
    assert_eq!(host.data.expect(Kind::Log).seq, 1, "a record is about the first");
    for seq in seqs {
        assert_eq!(host.data.expect(Kind::Progress).seq, seq, "each is told");
    }
    seqs
}

#[test]
fn the_contract_says_how_many_and_how_long() {
    for (example, name, max, wait_ms, input) in [
        ("numbers", "squares", 4, 10, None),
        ("actions", "shorten", 3, 20, None),
        ("actions", "halves", 2, 0, Some("uint32")),
    ] {
        let mut host = Host::spawn_example(example, &[]);
        host.control.expect(Kind::Hello);
        host.welcome(1);
        let ready =
            std::iter::from_fn(|| host.data.receive()).find(|frame| frame.kind == Kind::Ready).unwrap();
        let functions = Ready::decode(&ready.body).unwrap().functions;
        let contract = functions.into_iter().find(|contract| contract.name == name).unwrap();
        assert_eq!(contract.batch, Some(Batch { max, wait_ms }), "{name}");
        let format = contract.input.map(|schema| schema.to_json()["format"].clone());
        assert_eq!(format, input.map(Json::from), "that of one call");
    }
}

#[test]
fn calls_run_together_and_each_gets_its_own_end() {
    for concurrency in [1, 4] {
        let mut host = Host::start(concurrency);
        let seqs = together(&mut host, 1, "squares", [json!(2), json!("two"), json!(i64::MAX), json!(4)]);
        let misfit = host.error(seqs[1]);
        assert_eq!((misfit.code.as_str(), misfit.path.as_deref()), (code::INVALID_INPUT, Some("$")));
        assert_eq!(host.result(seqs[0]), json!([3, 4]));
        let failed = host.error(seqs[2]);
        assert_eq!((failed.code.as_str(), failed.message.as_str()), (code::CALL_FAILED, "too large"));
        assert_eq!(host.result(seqs[3]), json!([3, 16]));
        let alone = host.call("squares", 5);
        assert_eq!(host.result(alone), json!([1, 25]), "a call by itself is a batch of one");
    }
}

#[test]
fn what_goes_wrong_with_all_is_told_to_every_call() {
    let mut host = Host::start(1);
    let seqs = together(&mut host, 1, "squares", [json!(12), json!(13)]);
    assert_eq!(errors(&mut host, seqs), [code::CALL_FAILED; 2]);
    let seqs = together(&mut host, 3, "too_few", [json!(1), json!(2), json!(3)]);
    for seq in seqs {
        let report = host.error(seq);
        assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_RESULT, Some("$")));
        assert!(report.message.contains("a batch of 3 needs as many results, not 1"), "{}", report.message);
    }
    let seqs = together(&mut host, 6, "panics", [json!(1), json!(2)]);
    for seq in seqs {
        let report = host.error(seq);
        assert_eq!((report.error_type.as_str(), report.message.as_str()), ("panic", "all of it"));
    }
    let seqs = together(&mut host, 8, "panics", [json!(null), json!(null)]);
    assert_eq!(errors(&mut host, seqs), [code::INVALID_INPUT; 2], "nobody is left: it does not run");
}

#[test]
fn who_gives_up_is_let_go_alone_and_the_function_stops_with_the_last() {
    for concurrency in [1, 4] {
        let mut host = Host::start(concurrency);
        let [one, two, three] = lingering(&mut host, 600_000);
        for gone in [one, three] {
            host.cancel(gone);
            assert_eq!(host.error(gone).code, code::CANCELLED);
        }
        host.cancel(two);
        assert_eq!(host.error(two).code, code::CANCELLED);
        let next = host.call("squares", 3);
        assert_eq!(host.result(next), json!([1, 9]), "it stopped as it was asked to");
    }
}

#[test]
fn the_result_of_who_was_let_go_is_dropped() {
    let mut host = Host::start(2);
    let [one, two, three] = lingering(&mut host, 600_000);
    host.cancel(two);
    assert_eq!(host.error(two).code, code::CANCELLED);
    let release = host.call("release", Value::Nil);
    let mut results = [(); 3].map(|()| {
        let frame = host.data.expect(Kind::Result);
        (frame.seq, Value::decode(&frame.payload).unwrap().to_json())
    });
    results.sort_by_key(|(seq, _)| *seq);
    assert_eq!(results, [(one, json!(600_000)), (three, json!(3)), (release, json!(null))]);
}

#[test]
fn attributes_make_batches_too_and_asynchronous_ones_are_dropped_with_the_last_cancel() {
    let mut host = Host::spawn_example("actions", &[]);
    host.control.expect(Kind::Hello);
    host.welcome(2);
    host.data.expect(Kind::Ready);
    let texts = ["abc", "é!", "x"].map(|text| json!({ "text": text }));
    let seqs = together(&mut host, 1, "shorten", texts);
    for seq in seqs {
        let frame = host.data.expect(Kind::Progress);
        assert_eq!((frame.seq, Progress::decode(&frame.body).unwrap().done), (seq, 3.0));
    }
    assert_eq!((host.result(seqs[0]), host.result(seqs[1])), (json!("ab"), json!("é")));
    assert_eq!(host.error(seqs[2]).message, "too short already");
    let seqs = together(&mut host, 4, "halves", [json!(3), json!(4)]);
    assert_eq!(seqs.map(|seq| host.result(seq)), [1.5, 2.0]);
    let seqs = together(&mut host, 6, "halves", [json!(3), json!(70_000)]);
    assert_eq!(errors(&mut host, seqs), [code::CALL_FAILED; 2]);

    let mut host = Host::start(2);
    let seqs = together(&mut host, 1, "linger_later", [json!(600_000), json!(1)]);
    for seq in seqs {
        host.cancel(seq);
        assert_eq!(host.error(seq).code, code::CANCELLED);
    }
}

#[test]
fn a_stop_waits_for_the_batch() {
    let mut host = Host::start(1);
    let seqs = lingering(&mut host, 300);
    host.data.send(&Frame::new(Kind::Stop, 0));
    let ends: Vec<_> = seqs.map(|seq| host.result(seq)).into();
    assert_eq!(ends, [300, 2, 3]);
    assert_eq!(host.wait().0, Some(0));
}
