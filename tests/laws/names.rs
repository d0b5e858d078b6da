//! The field's words, and no names that say nothing.

use crate::assert_kept;
use crate::tree::{Source, sources, words};

const CODE: &[&str] = &[".rs", ".py", ".ts", ".mjs", ".go"];

/// Names that only say that nobody knew where else to put it.
const EMPTY_NAMES: &[&str] = &[
    "common",
    "helper",
    "helpers",
    "imp",
    "impl",
    "inner",
    "internals",
    "manager",
    "misc",
    "shared_utils",
    "util",
    "utils",
];

/// Words that stand for a call elsewhere and never here.
const NOT_A_CALL: &[&str] = &["job", "jobs", "task", "tasks"];

/// Where the word means what the runtime calls so, a task of tokio or asyncio or a thread as the kernel lists it, and where
/// this very rule is written down.
const TASKS_OF_A_RUNTIME: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "bindings-python/python/ganger/awaiting.py",
    "bindings-python/python/ganger/future.py",
    "bindings-python/src/bell.rs",
    "bindings-python/src/fate.rs",
    "core/src/capture.rs",
    "core/src/crew.rs",
    "core/src/endpoint.rs",
    "core/src/link.rs",
    "core/src/link/",
    "core/src/process/worker_process.rs",
    "core/src/reactor.rs",
    "core/src/reactor/",
    "core/src/sampler/linux.rs",
    "core/src/shared.rs",
    "core/src/timer.rs",
    "worker-sdk/python/src/ganger_worker/execution.py",
    "worker-sdk/python/src/ganger_worker/inline.py",
    "worker-sdk/python/src/ganger_worker/runner.py",
    "worker-sdk/python/src/ganger_worker/tasks.py",
    "worker-sdk/python/src/ganger_worker/threaded.py",
];

/// Types and functions of the standard libraries and of tokio.
const BORROWED_NAMES: &[&str] = &["get_or_init", "get_or_insert_with", "get_or_try_init", "get_mut"];

#[test]
fn no_file_or_module_has_an_empty_name() {
    let empty = |source: &Source| {
        let mut parts =
            source.path.split('/').map(|part| part.split('.').next().expect("a part has a beginning"));
        parts.any(|part| EMPTY_NAMES.contains(&part.trim_matches('_')))
    };
    let mut violations: Vec<_> = sources(CODE)
        .iter()
        .filter(|source| empty(source))
        .map(|source| format!("{}:1", source.path))
        .collect();
    for source in sources(&[".rs"]) {
        violations.extend(source.lines_that(|line| {
            let mut words = words(line).skip_while(|word| word.starts_with("pub") || *word == "crate");
            words.next() == Some("mod") && words.next().is_some_and(|name| EMPTY_NAMES.contains(&name))
        }));
    }
    assert_kept("a module is named by what it does", &violations);
}

#[test]
fn getters_are_named_as_what_they_give() {
    let getter = |line: &str| {
        let mut words = words(line).skip_while(|word| !matches!(*word, "fn" | "def" | "func"));
        words.next().is_some()
            && words.next().is_some_and(|name| name.starts_with("get_") && !BORROWED_NAMES.contains(&name))
    };
    let violations: Vec<_> =
        sources(&[".rs", ".py", ".go"]).iter().flat_map(|source| source.lines_that(getter)).collect();
    assert_kept("no get_", &violations);
}

#[test]
fn a_call_is_a_call_in_code_and_in_prose() {
    let mut violations = Vec::new();
    for source in sources(&[".rs", ".py", ".ts", ".mjs", ".go", ".md", ".toml"]) {
        let borrowed = TASKS_OF_A_RUNTIME.iter().any(|place| source.path.starts_with(place));
        // Tests drive asyncio and the kernel, whose word it is.
        if borrowed || source.is_test {
            continue;
        }
        for (number, line) in (1..).zip(source.text.lines()) {
            let said = without_borrowed_paths(line);
            if words(&said).any(|word| NOT_A_CALL.contains(&word.to_lowercase().as_str())) {
                violations.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert_kept("never task or job for a call", &violations);
}

#[test]
fn no_type_or_field_calls_a_call_a_request() {
    let request = |line: &str| {
        words(line).any(|word| {
            let word = word.trim_end_matches('s');
            word == "request"
                || word == "CallRequest"
                || word.ends_with("_request")
                || word.starts_with("request_")
        })
    };
    let ours = |source: &&Source| !source.is_test;
    let violations: Vec<_> = sources(&[".rs", ".py", ".ts"])
        .iter()
        .filter(ours)
        .flat_map(|source| source.lines_that(|line| !line.contains('"') && request(line)))
        .collect();
    assert_kept("never request for a call", &violations);
}

/// What the standard libraries, the kernel and V8 call so.
fn without_borrowed_paths(line: &str) -> String {
    [
        "tokio::task",
        "std::task",
        "asyncio.Task",
        "asyncio.create_task",
        "asyncio.current_task",
        "JoinHandle",
        "/task",
        "--no-incremental-marking-task",
    ]
    .iter()
    .fold(line.to_owned(), |line, path| line.replace(path, ""))
}
