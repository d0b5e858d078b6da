//! Functions of a module, as a host calls them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "each test file takes what it needs of the host")]

mod host;

use std::path::Path;

use ganger_protocol::message::{Call, Credit, FunctionKind, Hello, Level, Log, Progress, Shape, Stop, code};
use ganger_protocol::{Encoding, Frame, Kind, Value};
use host::{Host, file, module, program, text};
use serde_json::json;

fn value(json: serde_json::Value) -> Value {
    Value::from(json)
}

/// Gives back what it was given, in any encoding.
const ECHO: &str = "(func $call (param i32 i32 i32) (result i64) (call $pack (local.get 1) (local.get 2)))";

#[test]
fn it_says_what_it_is_and_what_its_module_offers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/reverse.wat");
    let (mut host, ready) = Host::start_with(&[], &path, 1);
    let hello = Hello::decode(&host.control.expect(Kind::Hello).body).unwrap();
    assert_eq!((hello.language.as_str(), hello.sdk.as_str()), ("wasm", "ganger-wasm"));
    let [reverse] = &ready.functions[..] else { panic!("{ready:?}") };
    assert_eq!((reverse.name.as_str(), reverse.summary.as_deref()), ("reverse", Some("Bytes in reverse")));
    assert!(reverse.idempotent && reverse.slots == 1);
    for length in [0, 1, 7, 64 * 1024, 3_000_000_u32] {
        let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let seq = host.call_bytes("reverse", &bytes);
        assert!(host.bytes(seq).iter().eq(bytes.iter().rev()), "{length} bytes");
    }
    let seq = host.call("reverse", "stressed");
    assert_eq!(host.bytes(seq), b"desserts");
}

#[test]
fn values_cross_as_messagepack_and_as_json() {
    for encoding in ["messagepack", "json"] {
        let contract = json!({ "ganger": 1, "encoding": encoding, "functions": [{ "name": "echo" }] });
        let mut host = Host::start(&file(text(&contract, ECHO)));
        let sent =
            json!({ "list": [1, -2.5, null, true], "text": "ä\u{1f980}", "big": 9_007_199_254_740_993_u64 });
        let seq = host.call("echo", value(sent.clone()));
        assert_eq!(host.result(seq), sent, "{encoding}");
        let named = Call { shape: Shape::Arguments, ..Call::new("echo") };
        let seq = host.call_with(&named, Encoding::MessagePack, value(json!([[], { "a": 1 }])).encode());
        assert_eq!(host.result(seq), json!({ "a": 1 }));
    }
}

#[test]
fn what_does_not_fit_never_reaches_the_module() {
    let schema =
        json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } });
    let contract =
        json!({ "ganger": 1, "encoding": "json", "functions": [{ "name": "echo", "input": schema }] });
    let mut host = Host::start(&file(text(&contract, ECHO)));
    let seq = host.call("echo", value(json!({ "text": 3 })));
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_INPUT, Some("$.text")));
    assert_eq!(report.language, "wasm");
    let seq = host.call("echo", value(json!({})));
    assert_eq!(host.error(seq).path.as_deref(), Some("$.text"));
    let seq = host.call_bytes("echo", b"bytes");
    assert_eq!(host.error(seq).code, code::INVALID_INPUT);
    let seq = host.call("ech", 1);
    let report = host.error(seq);
    assert_eq!(report.code, code::NO_SUCH_FUNCTION);
    assert!(report.message.contains("\"echo\""), "{}", report.message);
    let seq = host.call("echo", value(json!({ "text": "x" })));
    assert_eq!(host.result(seq), json!({ "text": "x" }));
}

#[test]
fn a_module_fails_in_its_own_words() {
    let contract =
        json!({ "ganger": 1, "encoding": "json", "functions": [{ "name": "fail" }, { "name": "refuse" }] });
    let code = r#"
        (data (i32.const 128) "QuotaErrorover quotalimit42$.amounttoo much")
        (func $call (param i32 i32 i32) (result i64)
          (if (local.get 0)
            (then (call $refuse (i32.const 155) (i32.const 8) (i32.const 163) (i32.const 8)))
            (else
              (call $fail (i32.const 128) (i32.const 10) (i32.const 138) (i32.const 10))
              (call $property (i32.const 148) (i32.const 5) (i32.const 153) (i32.const 2))))
          (i64.const 0))"#;
    let mut host = Host::start(&file(text(&contract, code)));
    let seq = host.call("fail", Value::Nil);
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.error_type.as_str()), (code::CALL_FAILED, "QuotaError"));
    assert_eq!((report.message.as_str(), report.language.as_str()), ("over quota", "wasm"));
    assert_eq!(report.properties.unwrap().to_json(), json!({ "limit": 42 }));
    let seq = host.call("refuse", Value::Nil);
    let report = host.error(seq);
    assert_eq!((report.code.as_str(), report.path.as_deref()), (code::INVALID_INPUT, Some("$.amount")));
    assert!(report.message.contains("too much"), "{}", report.message);
}

#[test]
fn a_module_logs_tells_its_progress_and_sees_its_time() {
    let code = r#"
        (data (i32.const 128) "half way")
        (func $call (param i32 i32 i32) (result i64)
          (call $log (i32.const 2) (i32.const 128) (i32.const 8))
          (call $progress (f64.const 1) (f64.const 2) (i32.const 128) (i32.const 4))
          (call $progress (f64.const 3) (f64.const nan) (i32.const 0) (i32.const 0))
          (i64.store (i32.const 64) (call $remaining))
          (call $pack (i32.const 64) (i32.const 8)))"#;
    let mut host = Host::start(&module(&["about"], code));
    let limited = Call { timeout_ms: Some(90_000), ..Call::new("about") };
    for (call, expected) in [(limited, 1..=90_000), (Call::new("about"), -1..=-1)] {
        let seq = host.call_with(&call, Encoding::Raw, Vec::new());
        let log = host.data.expect(Kind::Log);
        let record = Log::decode(&log.body).unwrap();
        assert_eq!((log.seq, record.level, record.message.as_str()), (seq, Level::Warning, "half way"));
        let progress = Progress::decode(&host.data.expect(Kind::Progress).body).unwrap();
        assert_eq!((progress.done, progress.total, progress.note.as_deref()), (1.0, Some(2.0), Some("half")));
        let progress = Progress::decode(&host.data.expect(Kind::Progress).body).unwrap();
        assert_eq!((progress.done, progress.total, progress.note), (3.0, None, None));
        let remaining = i64::from_le_bytes(host.bytes(seq).try_into().unwrap());
        assert!(expected.contains(&remaining), "{remaining}");
    }
}

#[test]
fn a_module_sees_what_is_known_of_its_call() {
    let contract =
        json!({ "ganger": 1, "encoding": "json", "functions": [{ "name": "about" }, { "name": "wild" }] });
    let code = r#"
        (func $call (param $function i32) (param i32 i32) (result i64)
          (if (local.get $function) (then (drop (call $about (i32.const -8) (i32.const 64)))))
          (if (i32.eqz (call $about (i32.const 256) (i32.const 3))) (then (unreachable))) ;; no room
          (if (i32.load (i32.const 256)) (then (unreachable)))
          (call $pack (i32.const 256) (call $about (i32.const 256) (i32.const 1024))))"#;
    let mut host = Host::start(&file(text(&contract, code)));
    let trace = std::collections::BTreeMap::from([("traceparent".to_owned(), "00-1".to_owned())]);
    let call = Call { attempt: 2, context: Some(std::borrow::Cow::Owned(trace)), ..Call::new("about") };
    let seq = host.call_with(&call, Encoding::MessagePack, Value::Nil.encode());
    let known = json!({ "function": "about", "attempt": 2, "remaining_ms": null, "trace": { "traceparent": "00-1" } });
    assert_eq!(host.result(seq), known);
    let seq = host.call("wild", Value::Nil);
    assert_eq!(host.error(seq).error_type, "AbiError");
}

#[test]
fn a_stream_waits_for_credit_and_stops_when_nobody_wants_more() {
    let contract =
        json!({ "ganger": 1, "encoding": "bytes", "functions": [{ "name": "count", "kind": "stream" }] });
    let code = r#"
        (func $call (param i32 i32 i32) (result i64)
          (local $at i32)
          (loop $next
            (i32.store (i32.const 128) (local.get $at))
            (if (call $item (i32.const 128) (i32.const 4)) (then (return (i64.const 0))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $at) (i32.const 100))))
          (i64.const 0))"#;
    let (mut host, ready) = Host::start_with(&[], &file(text(&contract, code)), 1);
    assert_eq!(ready.functions[0].kind, FunctionKind::Stream);
    let item =
        |host: &mut Host| u32::from_le_bytes(host.data.expect(Kind::Item).payload[..].try_into().unwrap());
    let seq = host.call("count", Value::Nil);
    (0..64).for_each(|expected| assert_eq!(item(&mut host), expected));
    host.control.send(&Frame::new(Kind::Credit, seq).with_body(Credit { items: 50, bytes: 1000 }.encode()));
    (64..100).for_each(|expected| assert_eq!(item(&mut host), expected));
    assert_eq!(host.bytes(seq), b"");
    let seq = host.call("count", Value::Nil);
    (0..64).for_each(|expected| assert_eq!(item(&mut host), expected));
    host.cancel(seq);
    assert_eq!(host.error(seq).code, code::CANCELLED);
}

#[test]
fn a_result_that_is_no_value_is_refused_and_the_module_lives_on() {
    let contract =
        json!({ "ganger": 1, "encoding": "json", "functions": [{ "name": "text" }, { "name": "nil" }] });
    let code = r#"
        (data (i32.const 128) "{oops")
        (func $call (param i32 i32 i32) (result i64)
          (if (local.get 0) (then (return (i64.const 0))))
          (call $pack (i32.const 128) (i32.const 5)))"#;
    let mut host = Host::start(&file(text(&contract, code)));
    let seq = host.call("text", Value::Nil);
    assert_eq!(host.error(seq).code, code::INVALID_RESULT);
    let seq = host.call("nil", Value::Nil);
    assert_eq!(host.result(seq), json!(null));
}

/// Counts its calls in its memory.
const COUNT: &str = r#"
    (global $count (mut i32) (i32.const 0))
    (func (export "_initialize") (global.set $count (i32.const 100)))
    (func $call (param i32 i32 i32) (result i64)
      (global.set $count (i32.add (global.get $count) (i32.const 1)))
      (call $number (global.get $count)))"#;

#[test]
fn an_instance_serves_one_call_after_the_other_or_only_one() {
    let path = module(&["count"], COUNT);
    for (options, expected) in [(&[][..], [101, 102, 103]), (&["--fresh"][..], [101, 101, 101])] {
        let (mut host, _) = Host::start_with(options, &path, 1);
        for count in expected {
            let seq = host.call("count", Value::Nil);
            assert_eq!(host.number(seq), count, "{options:?}");
        }
    }
}

#[test]
fn a_folder_is_a_worker_of_many_modules() {
    let path = module(&["count"], COUNT);
    let folder = path.parent().unwrap();
    std::fs::create_dir_all(folder.join("more")).unwrap();
    std::fs::copy(&path, folder.join("more/other.wat")).unwrap();
    std::fs::write(folder.join("notes.txt"), "no module").unwrap();
    let (mut host, ready) = Host::start_with(&[], folder, 1);
    let names: Vec<_> = ready.functions.iter().map(|contract| contract.name.as_str()).collect();
    assert_eq!(names, ["module.count", "more.other.count"]);
    for (name, count) in [("module.count", 101), ("more.other.count", 101), ("module.count", 102)] {
        let seq = host.call(name, Value::Nil);
        assert_eq!(host.number(seq), count, "each module has its own memory");
    }
}

#[test]
fn what_a_module_logs_while_it_is_loaded_is_heard() {
    let code = r#"
        (data (i32.const 128) "loading")
        (func (export "_initialize") (call $log (i32.const 1) (i32.const 128) (i32.const 7)))
        (func $call (param i32 i32 i32) (result i64) (i64.const 0))"#;
    let mut host = Host::spawn(&[], &module(&["nothing"], code), 1);
    let log = host.data.expect(Kind::Log);
    assert_eq!((log.seq, Log::decode(&log.body).unwrap().message.as_str()), (0, "loading"));
    host.data.expect(Kind::Ready);
    host.data.send(&Frame::new(Kind::Stop, 0).with_body(Stop::default().encode()));
    assert_eq!(host.data.receive(), None);
    assert_eq!(host.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_author_can_look_without_a_pool() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/reverse.wat");
    let output = program().arg("--check").arg(&path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["reverse", "Bytes", "in", "reverse"]);
    let output = program().args(["--check", "/nowhere.wasm"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("/nowhere.wasm"));
    let output = program().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
