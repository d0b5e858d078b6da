//! Modules that are not served, and what their authors are told.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(dead_code, reason = "each test file takes what it needs of the host")]

mod host;

use host::{Host, file, text};
use serde_json::json;

fn refused(content: impl AsRef<[u8]>, said: &str) {
    let path = file(content);
    let refusal = Host::refusal(&[], &path);
    assert!(refusal.starts_with(&path.display().to_string()), "{refusal}");
    assert!(refusal.contains(said), "expected {said:?} in {refusal:?}");
}

#[test]
fn what_is_no_module() {
    refused("", "");
    refused("#!/bin/sh\n", "");
    refused(b"\0asm", "");
    refused(b"\0asm\x01\0\0\0\xff\xff\xff", "");
    refused(b"\0asm\x0d\0\x01\0", "component");
    refused(b"\x7fELF\x02\x01\x01", "");
    refused("(module (func (result i32) (i64.const 1)))", "");
    refused(format!("(module {}", "(func (block ".repeat(5000)), "");
}

#[test]
fn what_does_not_follow_the_abi() {
    let memory = r#"(memory (export "memory") 1)"#;
    let alloc = r#"(func (export "ganger_alloc") (param i32) (result i32) (i32.const 0))"#;
    let contract = r#"(func (export "ganger_contract") (result i64) (i64.const 0))"#;
    refused("(module)", "does not export its \"memory\"");
    refused(format!("(module {memory})"), "does not export ganger_alloc");
    refused(format!("(module {memory} {alloc} {contract})"), "does not export ganger_call");
    let wrong = r#"(func (export "ganger_alloc") (param i64) (result i32) (i32.const 0))"#;
    refused(format!("(module {memory} {wrong})"), "(i64) -> i32, but must be (i32) -> i32");
    let wrong = r#"(func (export "memory"))"#;
    refused(format!("(module {wrong})"), "memory");
    let call = r#"(func (export "ganger_call") (param i32 i32 i32) (result i64) (i64.const 0))"#;
    refused(format!("(module {memory} {alloc} {contract} {call})"), "neither JSON nor MessagePack");
    let wild = r#"(func (export "ganger_contract") (result i64) (i64.const 0x00010000_00000001))"#;
    refused(format!("(module {memory} {alloc} {wild} {call})"), "ganger_contract: 1 bytes at 65536");
    let huge = r#"(func (export "ganger_contract") (result i64) (i64.const 0x7fffffff))"#;
    refused(format!("(module {memory} {alloc} {huge} {call})"), "too many");
    let traps = r#"(func (export "ganger_contract") (result i64) unreachable)"#;
    refused(format!("(module {memory} {alloc} {traps} {call})"), "unreachable");
}

#[test]
fn what_wants_more_than_there_is() {
    let import =
        |from, name| format!(r#"(module (import "{from}" "{name}" (func (param i32) (result i32))))"#);
    refused(import("wasi_snapshot_preview1", "fd_write"), "there is no WASI here");
    refused(import("env", "system"), "imports env.system");
    refused(import("ganger", "exec"), "imports ganger.exec");
    // The right name with another type.
    refused(text(&json!({ "ganger": 1, "functions": [] }), SPIN).replace("(module", LOG_OF_ANOTHER_TYPE), "");
    refused(r#"(module (import "ganger" "log" (memory 1)) (memory (export "memory") 1))"#, "");
    refused(r#"(module (memory (export "memory") 65536))"#, "");
    refused(r#"(module (memory (export "memory") 1) (memory 1))"#, "");
}

const SPIN: &str = "(func $call (param i32 i32 i32) (result i64) (loop $on (br $on)) (i64.const 0))";
const LOG_OF_ANOTHER_TYPE: &str = r#"(module (import "ganger" "log" (func $l (param f32)))"#;

#[test]
fn a_contract_that_makes_no_sense() {
    let with = |contract| text(&contract, SPIN);
    refused(with(json!({ "functions": [] })), "\"ganger\": 1");
    refused(with(json!({ "ganger": 1, "functions": [] })), "no function");
    refused(with(json!({ "ganger": 7, "functions": [] })), "version 7");
    refused(with(json!({ "ganger": 1, "functions": [{ "name": "a" }, { "name": "a" }] })), "two functions");
    refused(with(json!({ "ganger": 1, "functions": [{ "name": "a", "idempotant": true }] })), "idempotant");
}

#[test]
fn a_module_that_does_not_become_ready() {
    let functions = json!({ "ganger": 1, "functions": [{ "name": "a" }] });
    let start = format!("{SPIN} (func $start (loop $on (br $on))) (start $start)");
    refused(text(&functions, &start), "does not start");
    let initialize = format!(r#"{SPIN} (func (export "_initialize") (loop $on (br $on)))"#);
    refused(text(&functions, &initialize), "did not become ready within 5 s");
    let trap = format!(r#"{SPIN} (func (export "_initialize") unreachable)"#);
    refused(text(&functions, &trap), "unreachable");
}

#[test]
fn a_folder_without_modules() {
    let folder = file("").parent().unwrap().join("empty");
    std::fs::create_dir_all(&folder).unwrap();
    let refusal = Host::refusal(&[], &folder);
    assert!(refusal.contains("no function"), "{refusal}");
}

/// Modules with a few bytes changed are served or refused; none ends the program in another way.
#[test]
fn no_damaged_module_harms_the_program() {
    let whole = wat::parse_str(text(&json!({ "ganger": 1, "functions": [{ "name": "a" }] }), SPIN)).unwrap();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for round in 0..150 {
        let mut damaged = whole.clone();
        for _ in 0..=random(3) {
            let at = 8 + random(damaged.len() - 8);
            damaged[at] = random(256) as u8;
        }
        if random(4) == 0 {
            damaged.truncate(8 + random(damaged.len() - 8));
        }
        let path = file(&damaged);
        let output = host::program().arg("--check").arg(&path).output().unwrap();
        let code = output.status.code();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(code, Some(0 | 1)), "round {round}: {:?}: {said}", output.status);
        assert!(!said.contains("panicked"), "round {round}: {said}");
    }
}
