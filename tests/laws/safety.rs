//! Where `unsafe` may stand, and that nothing gives up without saying why.

use crate::assert_kept;
use crate::tree::{rust_code, words};

/// Spawning and exits, measuring, shared memory, the binary that execs workers, and where a worker takes over the
/// descriptors it inherits, Python's buffer protocol, which is made of pointers, buffers that Node.js takes by their address, and its event loop, which is written in C. Each block has its reason, which clippy asks for.
const UNSAFE_MAY_STAND_IN: &[&str] = &[
    "core/src/process/",
    "core/src/sampler/",
    "core/src/arena/",
    "core/shim/src/",
    "bindings-node/native/src/event_loop.rs",
    "bindings-node/native/src/memory.rs",
    "bindings-python/src/memory.rs",
    "worker-sdk/rust/src/transport/descriptors.rs",
    "worker-sdk/node/native/src/claims.rs",
    "worker-sdk/node/native/src/mapping.rs",
    "worker-sdk/node/native/src/watch.rs",
];

const FORBID_IT: &[&str] = &["core/scheduler/src/lib.rs", "worker-sdk/protocol/src/lib.rs"];

#[test]
fn unsafe_stands_only_where_it_may() {
    let elsewhere = rust_code("")
        .into_iter()
        .filter(|source| !UNSAFE_MAY_STAND_IN.iter().any(|place| source.path.starts_with(place)));
    let violations: Vec<_> = elsewhere
        .flat_map(|source| source.lines_that(|line| words(line).any(|word| word == "unsafe")))
        .collect();
    assert_kept("unsafe only in process, sampler, arena and the shim", &violations);
}

#[test]
fn pure_crates_forbid_unsafe() {
    let lacks = |path: &&&str| {
        let sources = rust_code(path);
        !sources.iter().any(|source| source.text.contains("\n#![forbid(unsafe_code)]\n"))
    };
    let violations: Vec<_> = FORBID_IT.iter().filter(lacks).map(|path| format!("{path}:1")).collect();
    assert_kept("#![forbid(unsafe_code)]", &violations);
}

#[test]
fn nothing_unwraps_outside_of_tests() {
    let unwraps = |line: &str| line.contains(".unwrap()") || line.contains(".unwrap_err()");
    let violations: Vec<_> = rust_code("").iter().flat_map(|source| source.lines_that(unwraps)).collect();
    assert_kept("`expect` states the invariant; `unwrap` states nothing", &violations);
}

#[test]
fn no_lint_is_switched_off_without_a_reason_or_for_a_whole_crate() {
    let allows = |line: &str| line.contains("#[allow(") || line.contains("#![allow(");
    let expects = |line: &str| line.starts_with("#![expect(");
    let mut violations = Vec::new();
    for source in rust_code("") {
        let is_root = source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs");
        violations.extend(source.lines_that(|line| allows(line) || (is_root && expects(line))));
    }
    assert_kept(
        "`#[expect(…, reason = …)]` where it is needed, never `allow`, never a whole crate",
        &violations,
    );
}
