//! The scheduler: nothing that differs from run to run, and parts that do not know each other.

use crate::assert_kept;
use crate::tree::{rust_code, words};

const SCHEDULER: &str = "core/scheduler/src/";

/// Clocks, chance, threads, the outside world, and collections whose order differs from run to run.
const IMPURE: &[&str] = &[
    "HashMap",
    "HashSet",
    "Instant",
    "RandomState",
    "SystemTime",
    "async",
    "env",
    "fs",
    "io",
    "net",
    "process",
    "rand",
    "static",
    "thread",
    "tokio",
];

/// Every file with what it may import, each only of those above it, so that no cycle can form. The last block composes; what
/// is above it does not know it.
const IMPORTS: &[(&str, &[&str])] = &[
    // Leaves.
    ("time", &[]),
    ("id", &[]),
    ("config", &[]),
    ("phase", &[]),
    // The alphabet: what is heard, asked for and reported.
    ("call", &["id", "time"]),
    ("failure", &["id"]),
    ("input", &["call", "id"]),
    ("recycle", &["config", "id"]),
    ("event", &["failure", "id", "input", "recycle"]),
    ("action", &["call", "event", "failure", "id"]),
    ("stats", &["id"]),
    // Parts.
    ("line", &["action", "failure", "id"]),
    ("worker", &["action", "failure", "id", "input", "line", "recycle", "time"]),
    ("roster", &["config", "id", "recycle", "time", "worker"]),
    ("affinity", &["id"]),
    ("backoff", &["time"]),
    ("lobby", &["id"]),
    ("placement", &[]),
    ("queue", &["id", "time"]),
    ("retry", &["call"]),
    ("scaling", &[]),
    ("timers", &["id", "time"]),
    // Records of what was heard.
    ("record", &["config", "input", "stats", "time"]),
    ("record/reading", &["call", "config", "id", "input", "stats", "time"]),
    ("record/span", &[]),
    ("record/writing", &["call", "config", "input"]),
    // And of what was asked for.
    ("words", &["action", "call", "event", "failure", "input", "recycle"]),
];

#[test]
fn nothing_in_the_scheduler_differs_from_run_to_run() {
    let impure = |line: &str| words(line).any(|word| IMPURE.contains(&word));
    // A lifetime is no static item.
    let violations: Vec<_> = rust_code(SCHEDULER)
        .iter()
        .flat_map(|source| source.lines_that(|line| impure(&line.replace("'static", ""))))
        .collect();
    assert_kept("no clock, IO, thread, chance or hash order", &violations);
}

#[test]
fn the_parts_of_the_scheduler_do_not_know_each_other() {
    let mut violations = Vec::new();
    for source in rust_code(SCHEDULER) {
        let name = source.path[SCHEDULER.len()..].trim_end_matches(".rs");
        if name == "lib" || name.split('/').next() == Some("scheduler") {
            continue;
        }
        let Some((_, may)) = IMPORTS.iter().find(|(file, _)| *file == name) else {
            violations.push(format!("{}:1: say in tests/laws/purity.rs what it may import", source.path));
            continue;
        };
        violations.extend(source.lines_that(|line| imported(line).any(|import| !may.contains(&import))));
    }
    assert_kept("parts import the alphabet only; scheduler.rs composes them", &violations);
}

#[test]
fn the_table_of_imports_has_no_cycle_and_names_no_ghost() {
    let mut above = Vec::new();
    for (file, may) in IMPORTS {
        assert!(
            may.iter().all(|import| above.contains(import)),
            "{file} imports what does not stand above it"
        );
        above.push(file);
    }
    let files = rust_code(SCHEDULER);
    let exists = |file: &str| files.iter().any(|source| source.path == format!("{SCHEDULER}{file}.rs"));
    let ghosts: Vec<_> = IMPORTS.iter().filter(|(file, _)| !exists(file)).map(|(file, _)| file).collect();
    assert!(ghosts.is_empty(), "no such files: {ghosts:?}");
}

/// The modules of the crate that a line of code names.
fn imported(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).filter_map(|rest| words(rest).next())
}

#[test]
fn imports_are_seen_wherever_they_stand() {
    assert_eq!(
        imported("use crate::id::CallId; let x = crate::time::ZERO;").collect::<Vec<_>>(),
        ["id", "time"]
    );
    assert_eq!(imported("pub(crate) fn f()").count(), 0);
}
