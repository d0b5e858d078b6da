//! What a module cannot do, whatever it tries: take the worker with it, keep it, or see what is not its own.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "each test file takes what it needs of the host")]

mod host;

use std::time::{Duration, Instant};

use ganger_protocol::message::{ErrorReport, code};
use ganger_protocol::{Kind, Value};
use host::{Host, module};

/// Function 0 counts its calls; the others are what a test adds. They tell their progress first, to be known to run.
fn with_count(others: &[&str], code: &str) -> std::path::PathBuf {
    let functions: Vec<&str> = ["count"].iter().chain(others).copied().collect();
    let code = format!(
        r#"(global $count (mut i32) (i32.const 0))
        (func $call (param $function i32) (param $at i32) (param $length i32) (result i64)
          (global.set $count (i32.add (global.get $count) (i32.const 1)))
          (if (i32.eqz (local.get $function)) (then (return (call $number (global.get $count)))))
          (call $progress (f64.const 0) (f64.const 1) (i32.const 0) (i32.const 0))
          (call $bad (local.get $function) (local.get $at) (local.get $length)))
        {code}"#
    );
    module(&functions, &code)
}

fn count(host: &mut Host) -> u32 {
    let seq = host.call("count", Value::Nil);
    host.number(seq)
}

/// A call that has begun to run.
fn begun(host: &mut Host, function: &str) -> u64 {
    let seq = host.call(function, Value::Nil);
    assert_eq!(host.data.expect(Kind::Progress).seq, seq);
    seq
}

fn fails(host: &mut Host, function: &str) -> ErrorReport {
    let seq = begun(host, function);
    let report = host.error(seq);
    assert_eq!(report.code, code::CALL_FAILED, "{function}: {report:?}");
    report
}

#[test]
fn a_trap_fails_its_call_and_a_fresh_instance_takes_the_place() {
    let traps = [
        ("unreachable", "unreachable"),
        ("divide", "integer-division-by-zero"),
        ("overflow", "integer-overflow"),
        ("convert", "bad-conversion-to-integer"),
        ("store", "memory-out-of-bounds"),
        ("null", "indirect-call-to-null"),
        ("table", "table-out-of-bounds"),
        ("type", "bad-signature"),
        ("recurse", "stack-overflow"),
    ];
    let code = r#"
        (table 4 4 funcref) (elem (i32.const 0) $recurse)
        (type $thunk (func (result i32)))
        (func $recurse (param i64) (result i64) (i64.add (i64.const 1) (call $recurse (local.get 0))))
        (func $bad (param $function i32) (param i32 i32) (result i64)
          (block $9 (block $8 (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1
            (br_table $1 $1 $2 $3 $4 $5 $6 $7 $8 $9 (local.get $function)))
            (unreachable))
            (return (i64.div_u (i64.const 1) (i64.const 0))))
            (return (i64.div_s (i64.const 0x8000000000000000) (i64.const -1))))
            (return (i64.trunc_f64_s (f64.const nan))))
            (i32.store (i32.const -4) (i32.const 1)) (return (i64.const 0)))
            (return (i64.extend_i32_s (call_indirect (type $thunk) (i32.const 2)))))
            (return (i64.extend_i32_s (call_indirect (type $thunk) (i32.const 77)))))
            (return (i64.extend_i32_s (call_indirect (type $thunk) (i32.const 0)))))
          (call $recurse (i64.const 1)))"#;
    let names: Vec<&str> = traps.iter().map(|(name, _)| *name).collect();
    let mut host = Host::start(&with_count(&names, code));
    for (name, kind) in traps {
        assert_eq!((count(&mut host), count(&mut host)), (1, 2), "before {name} there is a fresh instance");
        let report = fails(&mut host, name);
        assert_eq!(report.error_type, "Trap", "{report:?}");
        assert_eq!(report.properties.unwrap().get("trap"), Some(&Value::from(kind)), "{}", report.message);
        assert!(!report.message.is_empty() && report.language == "wasm");
    }
    assert_eq!(host.child.try_wait().unwrap(), None, "it is the same process all the while");
}

#[test]
fn a_spinning_call_is_stopped_alone_and_the_process_stays() {
    let code = "(func $bad (param i32 i32 i32) (result i64) (loop $on (br $on)) (i64.const 0))";
    let (mut host, _) = Host::start_with(&[], &with_count(&["spin"], code), 2);
    for _ in 0..3 {
        // The first takes the instance that there is, then there is one beside it.
        let spinning = begun(&mut host, "spin");
        assert_eq!(count(&mut host), 1, "another instance serves beside it");
        let too = begun(&mut host, "spin");
        host.cancel(spinning);
        let report = host.error(spinning);
        assert_eq!((report.code.as_str(), report.error_type.as_str()), (code::CANCELLED, "Cancelled"));
        assert_eq!(count(&mut host), 1, "neither of those that span is used again");
        host.cancel(too);
        assert_eq!(host.error(too).code, code::CANCELLED);
    }
    assert_eq!(host.child.try_wait().unwrap(), None);
}

#[test]
fn a_call_that_spins_wherever_it_can_is_stopped() {
    let spin = "(loop $on (br $on))";
    let in_log = "(loop $on (call $log (i32.const 1) (i32.const 0) (i32.const 0)) (br $on))";
    let in_copy = "(loop $on (memory.fill (i32.const 1024) (i32.const 7) (i32.const 60000)) (br $on))";
    let in_memory = "(loop $on (drop (memory.grow (i32.const 1))) (br $on))";
    for (name, body) in [("spin", spin), ("copy", in_copy), ("memory", in_memory), ("log", in_log)] {
        let code = format!("(func $bad (param i32 i32 i32) (result i64) {body} (i64.const 0))");
        let mut host = Host::start(&with_count(&[name], &code));
        let seq = begun(&mut host, name);
        host.cancel(seq);
        // Whoever logs without end is heard until then.
        let end =
            std::iter::repeat_with(|| host.data.receive().unwrap()).find(|frame| frame.kind != Kind::Log);
        let end = end.unwrap();
        assert_eq!((end.kind, end.seq), (Kind::Error, seq), "{name}");
        assert_eq!(ErrorReport::decode(&end.body).unwrap().code, code::CANCELLED, "{name}");
        assert_eq!(count(&mut host), 1, "{name}");
    }
}

#[test]
fn a_module_that_looks_may_end_by_itself() {
    let code = r#"
        (func $bad (param $function i32) (param i32 i32) (result i64)
          (loop $on (br_if $on (i32.eqz (call $cancelled))))
          (if (i32.eq (local.get $function) (i32.const 2))
            (then (call $fail (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
          (if (i32.eq (local.get $function) (i32.const 3)) (then (loop $on (br $on))))
          (call $number (i32.const 7)))"#;
    let mut host = Host::start(&with_count(&["polite", "gives-up", "goes-on"], code));
    let cancelled = |host: &mut Host, function: &str| {
        let seq = begun(host, function);
        host.cancel(seq);
        seq
    };
    let seq = cancelled(&mut host, "polite");
    assert_eq!(host.number(seq), 7, "a call that ends after all has its result");
    let seq = cancelled(&mut host, "gives-up");
    assert_eq!(host.error(seq).code, code::CANCELLED);
    assert_eq!(count(&mut host), 3, "the instance is kept: it ended by itself");
    let seq = cancelled(&mut host, "goes-on");
    assert_eq!(host.error(seq).code, code::CANCELLED);
    assert_eq!(count(&mut host), 1);
}

#[test]
fn memory_has_an_end_that_the_module_sees() {
    let code = r#"
        (func $bad (param $function i32) (param i32 i32) (result i64)
          (if (i32.eq (local.get $function) (i32.const 1))
            (then (return (call $number (memory.grow (i32.const 100))))))
          (loop $on (br_if $on (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
          (if (i32.eq (local.get $function) (i32.const 2)) (then (return (call $number (memory.size)))))
          (unreachable))"#;
    let path = with_count(&["grow", "most", "greedy"], code);
    let (mut host, _) = Host::start_with(&["--memory=1MiB"], &path, 1);
    let seq = begun(&mut host, "grow");
    assert_eq!(host.number(seq), u32::MAX, "as the instruction says it");
    let seq = begun(&mut host, "most");
    assert_eq!(host.number(seq), 16, "pages");
    let report = fails(&mut host, "greedy");
    assert_eq!(report.error_type, "MemoryLimit");
    assert_eq!(report.properties.unwrap().get("memoryLimit"), Some(&Value::from(1 << 20)));
    assert_eq!(count(&mut host), 1);
    let refusal = Host::refusal(&["--memory=64KiB"], &path);
    assert!(refusal.contains("65536 bytes of memory"), "{refusal}");
}

#[test]
fn tables_count_as_memory() {
    let code = r#"
        (table $t 0 funcref)
        (func $bad (param i32 i32 i32) (result i64)
          (call $number (table.grow $t (ref.null func) (i32.const 1000000))))"#;
    let (mut host, _) = Host::start_with(&["--memory=1MiB"], &with_count(&["grow"], code), 1);
    let seq = begun(&mut host, "grow");
    assert_eq!(host.number(seq), u32::MAX);
}

#[test]
fn memory_of_a_dead_instance_is_given_back() {
    let code = r#"
        (func $bad (param i32 i32 i32) (result i64)
          (drop (memory.grow (i32.const 3000)))
          (memory.fill (i32.const 131072) (i32.const 7) (i32.const 190000000))
          (unreachable))"#;
    let (mut host, _) = Host::start_with(&["--memory=256MiB"], &with_count(&["hog"], code), 1);
    let before = host.resident();
    for _ in 0..3 {
        fails(&mut host, "hog");
        let until = Instant::now() + Duration::from_secs(30);
        while host.resident() > before + (50 << 20) {
            assert!(Instant::now() < until, "{} bytes, {before} before", host.resident());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn wild_pointers_are_errors_of_the_module() {
    let code = r#"
        (func $bad (param $function i32) (param i32 i32) (result i64)
          (if (i32.eq (local.get $function) (i32.const 1)) (then (return (i64.const -1))))
          (if (i32.eq (local.get $function) (i32.const 2)) (then (return (i64.const 0x0001ffff_00000008))))
          (if (i32.eq (local.get $function) (i32.const 3))
            (then (call $log (i32.const 1) (i32.const -8) (i32.const 16))))
          (if (i32.eq (local.get $function) (i32.const 4))
            (then (call $fail (i32.const 0) (i32.const -1) (i32.const 0) (i32.const 0))))
          (if (i32.eq (local.get $function) (i32.const 5))
            (then (call $progress (f64.const 1) (f64.const 1) (i32.const 0x20000) (i32.const 1))))
          (if (i32.eq (local.get $function) (i32.const 6))
            (then (drop (call $item (i32.const 0x1fff0) (i32.const 17)))))
          (if (i32.eq (local.get $function) (i32.const 7))
            (then (call $abort (i32.const -1) (i32.const 3) (i32.const 1) (i32.const 2))))
          (call $property (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1))
          (i64.const 0))"#;
    let names = ["everything", "beyond", "log", "fail", "progress", "item", "abort", "property"];
    let mut host = Host::start(&with_count(&names, code));
    for name in names {
        let report = fails(&mut host, name);
        assert_eq!(report.error_type, "AbiError", "{name}: {report:?}");
        assert_eq!(count(&mut host), 1, "{name}");
    }
}

#[test]
fn an_allocator_that_lies_harms_nobody() {
    let serve = r#"(func (export "ganger_call") (param i32 i32 i32) (result i64) (i64.const 0))"#;
    let spin = "(loop $on (br $on))";
    for (body, error_type) in [
        ("(i32.const -16)", "AbiError"),
        ("(i32.const 65530)", "AbiError"),
        ("(i32.const 0)", "OutOfMemory"),
        ("(unreachable)", "Trap"),
    ] {
        let mut host = Host::start(&bare(&format!(
            r#"{serve} (func (export "ganger_alloc") (param i32) (result i32) {body})"#
        )));
        let seq = host.call_bytes("x", &[1; 100]);
        let report = host.error(seq);
        assert_eq!(
            (report.code.as_str(), report.error_type.as_str()),
            (code::CALL_FAILED, error_type),
            "{body}"
        );
    }
    let mut host = Host::start(&bare(&format!(
        r#"{serve} (func (export "ganger_alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "ganger_free") (param i32 i32)
          (call $progress (f64.const 0) (f64.const 1) (i32.const 0) (i32.const 0)) {spin})"#
    )));
    let seq = host.call_bytes("x", &[1; 100]);
    assert_eq!(host.data.expect(Kind::Progress).seq, seq, "it gives the input back, without end");
    host.cancel(seq);
    assert_eq!(host.bytes(seq), b"", "the result was there before");
    let seq = host.call_bytes("x", &[]);
    assert_eq!(host.bytes(seq), b"");
}

/// A module with one function "x" that has nothing but what is given.
fn bare(code: &str) -> std::path::PathBuf {
    let contract = r#"{\"ganger\":1,\"encoding\":\"bytes\",\"functions\":[{\"name\":\"x\"}]}"#;
    let length = contract.replace('\\', "").len();
    host::file(format!(
        r#"(module (import "ganger" "progress" (func $progress (param f64 f64 i32 i32)))
        (memory (export "memory") 1) (data (i32.const 8) "{contract}")
        (func (export "ganger_contract") (result i64) (i64.const {})) {code})"#,
        (8_u64 << 32) + length as u64
    ))
}

#[test]
fn an_instance_cannot_see_the_memory_of_another() {
    // One looks for a mark wherever it can until it is stopped, the other leaves it wherever it can.
    let code = r#"
        (func $bad (param $function i32) (param i32 i32) (result i64)
          (local $at i32)
          (if (i32.eq (local.get $function) (i32.const 1))
            (then
              (memory.fill (i32.const 1024) (i32.const 0x5a) (i32.const 3000))
              (return (call $number (i32.const 1)))))
          (loop $again
            (local.set $at (i32.const 1024))
            (loop $next
              (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x5a))
                (then (return (call $number (local.get $at)))))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br_if $next (i32.lt_u (local.get $at) (i32.const 4000))))
            (br $again))
          (i64.const 0))"#;
    let (mut host, _) = Host::start_with(&[], &with_count(&["mark", "look"], code), 2);
    let looking = begun(&mut host, "look");
    for _ in 0..20 {
        let marked = begun(&mut host, "mark");
        assert_eq!(host.number(marked), 1, "marked, and nothing was found meanwhile");
    }
    host.cancel(looking);
    assert_eq!(host.error(looking).code, code::CANCELLED);
    // What a call leaves in its instance is there for the next, unless each has its own.
    let (mut fresh, _) = Host::start_with(&["--fresh"], &with_count(&["mark", "look"], code), 1);
    let marked = begun(&mut fresh, "mark");
    assert_eq!(fresh.number(marked), 1);
    let looking = begun(&mut fresh, "look");
    fresh.cancel(looking);
    assert_eq!(fresh.error(looking).code, code::CANCELLED);
}

#[test]
fn an_abort_of_assemblyscript_has_its_text() {
    let code = r#"
        (data (i32.const 128) "\0e\00\00\00n\00o\00 \00r\00o\00o\00m\00\08\00\00\00a\00.\00t\00s\00")
        (func $bad (param i32 i32 i32) (result i64)
          (call $abort (i32.const 132) (i32.const 150) (i32.const 3) (i32.const 9)) (i64.const 0))"#;
    let mut host = Host::start(&with_count(&["abort"], code));
    let report = fails(&mut host, "abort");
    assert_eq!(report.message, "no room at a.ts:3:9");
}

#[test]
fn a_trap_after_a_failure_is_the_failure() {
    // A panic of Rust: its hook says what is wrong, then it traps.
    let code = r#"
        (data (i32.const 128) "panicindex out of bounds")
        (func $bad (param i32 i32 i32) (result i64)
          (call $fail (i32.const 128) (i32.const 5) (i32.const 133) (i32.const 19)) (unreachable))"#;
    let mut host = Host::start(&with_count(&["panic"], code));
    let report = fails(&mut host, "panic");
    assert_eq!((report.error_type.as_str(), report.message.as_str()), ("panic", "index out of bounds"));
    assert_eq!(count(&mut host), 1, "the instance that trapped is gone");
}
