//! `ganger check` finds the workers of every SDK in order, and each rule that is broken on purpose.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where programs of this workspace are built.
fn built() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ganger")).parent().expect("it lies in a folder")
}

fn check(options: &[&str], worker: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ganger"));
    command.arg("check").args(options).arg("--").args(worker).current_dir(root());
    command.envs(variables.iter().copied()).output().expect("it runs")
}

/// Every rule is kept or not checked, and of the latter only those that may be.
#[track_caller]
fn keeps_every_rule_but(unchecked: &[u64], worker: &[&str], variables: &[(&str, &str)]) {
    let output = check(&["--json", "--timeout", "60s"], worker, variables);
    let text = String::from_utf8_lossy(&output.stdout);
    let told: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    let rules = told["rules"].as_array().expect("there are rules");
    let of = |verdict: &str| {
        let all = rules.iter().filter(|rule| rule["verdict"] == verdict);
        all.map(|rule| rule["rule"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(of("broken"), [0; 0], "{text}");
    assert_eq!(of("unchecked"), unchecked, "{text}");
    assert_eq!(output.status.code(), Some(0));
}

/// Rules that are the host's, or are not seen from outside.
const NEVER: [u64; 6] = [37, 44, 48, 55, 57, 61];
/// For who streams: the rule for who does not. For who is not Python: pickles.
const ELSEWHERE: [u64; 2] = [31, 47];

/// The highest rule of the law.
fn last_rule() -> u64 {
    let law = std::fs::read_to_string(root().join("worker-sdk/protocol/SPEC.md")).expect("it can be read");
    let numbers = law.split("**R").filter_map(|rest| rest.split_once("**")?.0.parse().ok());
    numbers.max().expect("it has rules")
}

fn never_and(more: &[u64]) -> Vec<u64> {
    let mut all = [&NEVER, more].concat();
    all.sort_unstable();
    all
}

#[test]
fn the_readme_shows_what_is_told() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("it can be read");
    let (_, shown) = page.split_once("\n$ BREAKS=R17 ganger check -- ").expect("it shows a check");
    let (command, shown) = shown.split_once('\n').expect("what is told stands below");
    let worker: Vec<_> = command.split(' ').collect();
    let output = check(&["--timeout", "60s"], &worker, &[("BREAKS", "R17")]);
    let told = String::from_utf8_lossy(&output.stdout);
    let mut lines = told.lines();
    for line in shown.lines().take_while(|line| *line != "```").filter(|line| *line != "…") {
        assert!(lines.any(|found| found == line), "{line:?} is not told, or not there:\n{told}");
    }
}

#[test]
fn workers_in_python_keep_every_rule() {
    let worker = ["python3", "-m", "ganger_worker", "tests/conformance/workers/conformance.py"];
    keeps_every_rule_but(&never_and(&[31]), &worker, &[("PYTHONPATH", "worker-sdk/python/src")]);
}

#[test]
fn workers_in_javascript_keep_every_rule() {
    let main = "worker-sdk/node/dist/main.js";
    assert!(root().join(main).is_file(), "build it first: make node-worker");
    keeps_every_rule_but(
        &never_and(&ELSEWHERE),
        &["node", main, "tests/conformance/workers/conformance.mjs"],
        &[],
    );
}

#[test]
fn workers_in_rust_keep_every_rule() {
    let program = built().join("conformance-worker");
    assert!(program.is_file(), "build it first: make programs");
    keeps_every_rule_but(&never_and(&ELSEWHERE), &[program.to_str().unwrap()], &[]);
}

#[test]
fn workers_in_go_keep_every_rule() {
    let program = built().join("../go/conformance-worker");
    if !program.is_file() && std::env::var_os("CI").is_none() {
        eprintln!("no worker in Go: skipped");
        return;
    }
    keeps_every_rule_but(&never_and(&ELSEWHERE), &[program.to_str().unwrap()], &[]);
}

/// Modules have no hooks, print nothing, cannot end their process and read no input streams.
#[test]
fn workers_in_webassembly_keep_every_rule_that_they_show() {
    let program = built().join("ganger-wasm");
    assert!(program.is_file(), "build it first: make programs");
    let unchecked = never_and(&[14, 15, 31, 33, 36, 38, 47, 50, 53, 54, 58, 59]);
    keeps_every_rule_but(
        &unchecked,
        &[program.to_str().unwrap(), "tests/conformance/workers/conformance.wat"],
        &[],
    );
}

#[test]
fn the_worker_of_the_afternoon_keeps_every_rule_that_it_shows() {
    let output = check(&["--timeout", "60s"], &["python3", "worker-sdk/protocol/afternoon/worker.py"], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let counts = text.lines().next_back().unwrap();
    assert!(counts.starts_with("21 rules kept, 0 broken"), "{text}");
}

#[test]
fn the_breakable_worker_keeps_every_rule_until_it_is_told_to_break_one() {
    keeps_every_rule_but(&never_and(&ELSEWHERE), &["python3", BREAKABLE], &[]);
    keeps_every_rule_but(&never_and(&[30, 47, 49]), &["python3", BREAKABLE], &[("BREAKS", "lists")]);
}

/// One switch a rule at least, for every rule that a worker can break and that can be seen from outside.
#[test]
fn each_broken_rule_is_found_and_named() {
    let switches = switches();
    let seen: Vec<u64> = (1..=last_rule()).filter(|rule| !NEVER.contains(rule)).collect();
    let broken: Vec<u64> =
        seen.iter().copied().filter(|rule| switches.iter().any(|one| one.1 == *rule)).collect();
    assert_eq!(broken, seen, "a rule has no switch in {BREAKABLE}");
    let missed = Mutex::new(Vec::new());
    let queue = Mutex::new(switches.into_iter());
    let work = || {
        while let Some((switch, rule)) = { queue.lock().unwrap().next() } {
            if let Err(told) = finds(&switch, rule) {
                missed.lock().unwrap().push(format!("{switch}: {told}"));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..5).for_each(|_| drop(scope.spawn(work)));
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

const BREAKABLE: &str = "tests/conformance/breakable.py";

/// Every `R17` or `R17-nearest` in the source, with its rule.
fn switches() -> Vec<(String, u64)> {
    let source = std::fs::read_to_string(root().join(BREAKABLE)).expect("it can be read");
    let mut all: Vec<_> = source
        .split('"')
        .filter_map(|word| {
            let rule = word.strip_prefix('R')?.split('-').next()?.parse().ok()?;
            Some((word.to_owned(), rule))
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

fn finds(switch: &str, rule: u64) -> Result<(), String> {
    let number = rule.to_string();
    let options = ["--rule", &number, "--timeout", "15s"];
    let output = check(&options, &["python3", BREAKABLE], &[("BREAKS", switch)]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(&format!("R{rule}")) && words.next() == Some("FAIL:")
    });
    if found && output.status.code() == Some(1) { Ok(()) } else { Err(text) }
}

#[test]
fn a_program_that_does_not_exist_is_no_broken_rule() {
    let output = check(&[], &["./no-such-program"], &[]);
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no-such-program") && told.contains("No such file"), "{told}");
}

#[test]
fn a_program_that_is_no_worker_breaks_the_first_rule_it_meets() {
    let output = check(&["--timeout", "1s"], &["sleep", "60"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("R11 FAIL: expected HELLO on control; came nothing within 1 s"), "{told}");
    assert!(told.ends_with("not checked\n"), "{told}");
    assert!(told.contains("0 rules kept, 1 broken"), "{told}");
}
