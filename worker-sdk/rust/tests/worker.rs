//! A real worker process, driven over real lanes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "the other suites use the rest of the host")]

mod host;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixListener;

use ganger_protocol::message::{Attach, Call, Hello, Log, Progress, Ready, Shape, Stop, Welcome, code};
use ganger_protocol::{Encoding, Frame, Kind, Value, split_into_chunks};
use host::{Host, Lane, example};
use serde_json::json;

fn value(json: serde_json::Value) -> Value {
    Value::from(json)
}

#[test]
fn it_says_hello_loads_and_offers_its_functions() {
    let mut host = Host::spawn(&[]);
    let hello = Hello::decode(&host.control.expect(Kind::Hello).body).unwrap();
    assert_eq!((hello.min_version, hello.max_version, hello.language.as_str()), (1, 1, "rust"));
    assert_eq!(hello.pid, u64::from(host.child.id()));
    host.welcome(1);
    let log = Log::decode(&host.data.expect(Kind::Log).body).unwrap();
    assert_eq!(log.message, "on Some(\"cuda:1\")");
    let ready = Ready::decode(&host.data.expect(Kind::Ready).body).unwrap();
    let divide = ready.functions.iter().find(|contract| contract.name == "divide").unwrap();
    assert!(divide.idempotent);
    assert_eq!((divide.summary.as_deref(), divide.timeout_ms), (Some("Divides"), Some(5000)));
}

#[test]
fn calls_have_results_and_errors_with_their_causes() {
    let mut host = Host::start(1);
    let seq = host.call("divide", value(json!({ "dividend": 3, "divisor": 2 })));
    assert_eq!(host.result(seq), json!({ "quotient": 1.5 }));
    let seq = host.call("divide", value(json!({ "dividend": 3, "divisor": 0 })));
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.error_type.as_str()), (code::CALL_FAILED, "DivisionError"));
    assert_eq!(report.properties.unwrap().to_json(), json!({ "divisor": 0 }));
    assert_eq!(report.cause.unwrap().message, "a zero");
    let seq = host.call("parse", "many");
    let report = host.error(seq);
    assert!(report.error_type.ends_with("ParseIntError"), "{}", report.error_type);
    assert_eq!(report.language, "rust");
}

#[test]
fn a_panic_fails_its_call_and_the_worker_lives_on() {
    let mut host = Host::start(2);
    for _ in 0..3 {
        let seq = host.call("panic", "ouch");
        let report = host.error(seq);
        assert_eq!((report.code.as_str(), report.error_type.as_str()), (code::CALL_FAILED, "panic"));
        assert_eq!(report.message, "ouch");
        assert!(report.traceback.unwrap().contains("numbers.rs"));
    }
    let seq = host.call("parse", "7");
    assert_eq!(host.result(seq), json!(7));
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let mut host = Host::start(1);
    let seq = host.call("divide", value(json!({ "dividend": 3, "divisor": "two" })));
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_INPUT, Some("$.divisor")));
    let seq = host.call("divid", 1);
    let report = host.error(seq);
    assert_eq!(report.code, code::NO_SUCH_FUNCTION);
    assert!(report.message.contains("\"divide\""), "{}", report.message);
    let seq = host.call(&"d".repeat(1_000_000), 1);
    assert_eq!(host.error(seq).message, format!("no function \"{}…\"", "d".repeat(200)));
    let seq = host.call_with(&Call::new("parse"), Encoding::Pickle5, vec![0x80, 5, 0x4e, 0x2e]);
    assert_eq!(host.error(seq).code, code::INVALID_INPUT);
    let seq = host.call_with(&Call::new("parse"), Encoding::MessagePack, Vec::new());
    assert_eq!(host.error(seq).code, code::INVALID_INPUT);
}

#[test]
fn a_function_sees_its_call() {
    let mut host = Host::start(1);
    let context = BTreeMap::from([("traceparent".to_owned(), "00-1".to_owned())]);
    let call = Call {
        attempt: 2,
        timeout_ms: Some(10_000),
        shape: Shape::Arguments,
        context: Some(std::borrow::Cow::Owned(context)),
        ..Call::new("about")
    };
    let seq = host.call_with(&call, Encoding::MessagePack, value(json!([[], {}])).encode());
    let log = Log::decode(&host.data.expect(Kind::Log).body).unwrap();
    assert_eq!((log.logger.as_str(), log.message.as_str()), ("ganger.about", "someone asks"));
    let progress = Progress::decode(&host.data.expect(Kind::Progress).body).unwrap();
    assert_eq!((progress.done, progress.total), (1.0, Some(2.0)));
    assert_eq!(host.result(seq), json!("about 2 true Some(\"00-1\")"));
}

#[test]
fn large_bytes_cross_in_one_piece_and_in_many() {
    let mut host = Host::start(1);
    let bytes: Vec<u8> = (0..9 * 1024 * 1024_u32).map(|at| (at % 251) as u8).collect();
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    let frame = |seq| {
        Frame::new(Kind::Call, seq)
            .with_body(Call::new("reverse").encode())
            .with_payload(Encoding::Raw, bytes.clone())
    };
    // Another thread writes: the worker answers as it reads, and nobody may wait for the other.
    let mut writer = host.data.stream.try_clone().unwrap();
    let frames: Vec<Frame> =
        std::iter::once(frame(1)).chain(split_into_chunks(frame(2), 256 * 1024)).collect();
    let writing = std::thread::spawn(move || {
        frames.iter().for_each(|frame| writer.write_all(&frame.to_bytes()).unwrap());
    });
    for seq in [1, 2] {
        let result = host.data.expect(Kind::Result);
        assert_eq!((result.seq, result.flags.encoding()), (seq, Some(Encoding::Raw)));
        assert!(result.payload == reversed);
    }
    writing.join().unwrap();
}

#[test]
fn calls_run_side_by_side_and_a_cancel_stops_only_its_own() {
    let mut host = Host::start(3);
    let first = host.call("spin", Value::Nil);
    let second = host.call("spin", Value::Nil);
    let quick = host.call("parse", "1");
    assert_eq!(host.result(quick), json!(1));
    host.cancel(second);
    assert_eq!(host.error(second).code, code::CANCELLED);
    host.cancel(first);
    assert_eq!(host.error(first).code, code::CANCELLED);
}

#[test]
fn a_worker_of_one_call_at_a_time_hears_of_cancels_too() {
    let mut host = Host::start(1);
    let seq = host.call("spin", Value::Nil);
    host.cancel(seq);
    assert_eq!(host.error(seq).code, code::CANCELLED);
    let seq = host.ping();
    assert_eq!(host.data.expect(Kind::Pong).seq, seq);
}

#[test]
fn many_calls_reuse_few_threads() {
    let mut host = Host::start(4);
    for _ in 0..200 {
        let seqs: Vec<u64> = (0..4).map(|_| host.call("parse", "5")).collect();
        let mut ended: Vec<u64> = seqs.iter().map(|_| host.data.expect(Kind::Result).seq).collect();
        ended.sort_unstable();
        assert_eq!(ended, seqs);
    }
    if cfg!(target_os = "linux") {
        let threads = std::fs::read_dir(format!("/proc/{}/task", host.child.id())).unwrap().count();
        assert!(threads <= 4 + 2, "{threads} threads for a concurrency of 4: one to read, one for control");
    }
}

#[test]
fn a_stop_lets_running_calls_end_and_runs_the_hooks() {
    let mut host = Host::start(2);
    let seq = host.call("spin", Value::Nil);
    host.data.send(&Frame::new(Kind::Stop, 0).with_body(Stop::default().encode()));
    host.cancel(seq);
    assert_eq!(host.error(seq).code, code::CANCELLED);
    assert_eq!(host.data.receive(), None);
    assert_eq!(host.wait(), (Some(0), "the hook ran\n".to_owned()));
}

#[test]
fn a_start_that_fails_says_why() {
    let mut host = Host::spawn(&["fail"]);
    host.control.expect(Kind::Hello);
    host.welcome(1);
    host.data.expect(Kind::Log);
    let report = host.error(0);
    assert_eq!((report.code.as_str(), report.message.as_str()), (code::START_FAILED, "no model"));
    assert_eq!(host.wait().0, Some(1));
}

#[test]
fn a_violation_is_named_and_ends_the_worker() {
    let mut host = Host::start(1);
    host.data.send(&Frame::new(Kind::Cancel, 1));
    let (code, complaint) = host.wait();
    assert_eq!(code, Some(70));
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains("CANCEL"), "{complaint}");
}

#[test]
fn the_end_of_either_lane_ends_a_busy_worker() {
    for concurrency in [1, 2] {
        for control in [true, false] {
            let mut host = Host::start(concurrency);
            host.call("spin", Value::Nil);
            let lane = if control { &host.control } else { &host.data };
            lane.stream.shutdown(Shutdown::Both).unwrap();
            let (code, said) = host.wait();
            assert_eq!((code, said.as_str()), (Some(0), ""), "no hook runs");
        }
    }
}

#[test]
fn children_of_a_worker_have_neither_lanes_nor_their_names() {
    let mut host = Host::start(1);
    for name in ["GANGER_DATA_FD", "GANGER_CONTROL_FD", "GANGER_TOKEN"] {
        let seq = host.call("variables", name);
        assert_eq!(host.result(seq), json!(null), "{name}");
    }
    if cfg!(target_os = "linux") {
        let seq = host.call("inherited", Value::Nil);
        let listing = host.result(seq);
        assert!(!listing.as_str().unwrap().contains("socket:"), "{listing}");
    }
}

#[test]
fn it_joins_a_running_pool_by_name() {
    let folder = std::env::temp_dir().join(format!("ganger-worker-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("endpoint");
    let listener = UnixListener::bind(&path).unwrap();
    let mut child = example().env("GANGER_ENDPOINT", &path).env("GANGER_TOKEN", "secret").spawn().unwrap();
    let mut lanes: Vec<(Attach, Lane)> = (0..2)
        .map(|_| {
            let mut lane = Lane::new(listener.accept().unwrap().0);
            (Attach::decode(&lane.expect(Kind::Attach).body).unwrap(), lane)
        })
        .collect();
    std::fs::remove_dir_all(&folder).unwrap();
    lanes.sort_by_key(|(attach, _)| attach.lane == Some(ganger_protocol::Lane::Data));
    let [(first, control), (second, data)] = &mut lanes[..] else { panic!("two lanes") };
    assert_eq!((first.token.as_str(), &first.session), ("secret", &second.session));
    assert_ne!(first.lane, second.lane);
    control.expect(Kind::Hello);
    control
        .send(&Frame::new(Kind::Welcome, 0).with_body(Welcome { version: 1, ..Welcome::default() }.encode()));
    data.expect(Kind::Log);
    data.expect(Kind::Ready);
    data.send(&Frame::new(Kind::Stop, 0));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_pool_that_lets_it_go_at_once_is_told_of() {
    let path = std::env::temp_dir().join(format!("ganger-worker-refused-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let mut command = example();
    command.env("GANGER_ENDPOINT", &path).env("GANGER_TOKEN", "wrong").stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    for _ in 0..2 {
        Lane::new(listener.accept().unwrap().0).expect(Kind::Attach);
    }
    std::fs::remove_file(&path).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("ganger-worker: cannot attach: "), "{said}");
}

#[test]
fn without_a_pool_it_says_what_it_is() {
    let output = example().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("GANGER_ENDPOINT"));
}

#[cfg(feature = "async")]
#[test]
fn asynchronous_functions_run_together_and_stop_when_cancelled() {
    let mut host = Host::start(8);
    let long = host.call("sleep", 600_000);
    let short = host.call("sleep", 1);
    assert_eq!(host.result(short), json!(1));
    host.cancel(long);
    assert_eq!(host.error(long).code, code::CANCELLED);
    let seq = host.call("panic_later", Value::Bool(true));
    let report = host.error(seq);
    assert_eq!((report.error_type.as_str(), report.message.as_str()), ("panic", "later"));
    assert!(report.traceback.is_some());
}
