//! `tests/FAULTS.md` has each fault of other pools once, and names only tests that exist.

use std::collections::BTreeMap;
use std::fs;

use crate::assert_kept;
use crate::tree::root;

const TABLE: &str = "tests/FAULTS.md";

/// Pools for Node and for several languages, pools for Python.
const SERIES: &[(&str, &str, usize)] = &[("T", "T01", 67), ("P", "P1", 46)];

/// What a fault may wait for, where it has no test.
const WAITS: &[&str] = &["streams", "shared memory", "contracts", "cluster"];

#[test]
fn each_fault_stands_in_the_table_once() {
    let mut found: BTreeMap<String, usize> = expected().into_iter().map(|reference| (reference, 0)).collect();
    let mut violations = Vec::new();
    for row in rows() {
        match found.get_mut(&row.reference) {
            Some(times) => *times += 1,
            None => violations.push(format!("{}: {} is no reference", row.place, row.reference)),
        }
    }
    let wrong = found.iter().filter(|&(_, &times)| times != 1);
    violations
        .extend(wrong.map(|(reference, times)| format!("{TABLE}: {reference} stands there {times} times")));
    assert_kept("each fault has one row", &violations);
}

#[test]
fn each_fault_has_a_test_or_a_reason() {
    let violations: Vec<_> =
        rows().iter().filter_map(|row| Some(format!("{}: {}", row.place, problem(row)?))).collect();
    assert_kept("a fault is tested by tests that exist, waits for something, or does not apply", &violations);
}

struct Row {
    place: String,
    reference: String,
    cells: usize,
    shown_by: String,
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(root().join(TABLE)).expect("the table can be read");
    let lines = (1..).zip(table.lines());
    let of_faults = lines.filter(|(_, line)| {
        let reference = line.strip_prefix("| ").and_then(|rest| rest.strip_prefix(['T', 'P']));
        reference.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    });
    of_faults.map(|(number, line)| row(number, line)).collect()
}

fn row(number: usize, line: &str) -> Row {
    let cells: Vec<_> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
    Row {
        place: format!("{TABLE}:{number}"),
        reference: cells[0].to_owned(),
        cells: cells.iter().filter(|cell| !cell.is_empty()).count(),
        shown_by: cells[cells.len() - 1].to_owned(),
    }
}

fn expected() -> Vec<String> {
    let width = |first: &str| first.len() - 1;
    let series = SERIES.iter().flat_map(|&(letter, first, last)| {
        (1..=last).map(move |number| format!("{letter}{number:0width$}", width = width(first)))
    });
    series.collect()
}

/// What is wrong with a row.
fn problem(row: &Row) -> Option<String> {
    let Row { reference, shown_by, .. } = row;
    if row.cells != 5 {
        return Some(format!("{reference} has {} cells of 5", row.cells));
    }
    if let Some(feature) = shown_by.strip_prefix("waits for: ") {
        return (!WAITS.contains(&feature))
            .then(|| format!("{reference} waits for {feature}, which is none of {WAITS:?}"));
    }
    if let Some(reason) = shown_by.strip_prefix("does not apply: ") {
        return reason.trim().is_empty().then(|| format!("{reference} does not say why it does not apply"));
    }
    shown_by.split("; `").find_map(|test| {
        let Some((file, name)) = test.trim_matches('`').split_once("`: `") else {
            return Some(format!("{reference}: \"{test}\" names no file and test"));
        };
        missing(file, name).map(|why| format!("{reference}: {why}"))
    })
}

/// Why there is no such test.
fn missing(file: &str, name: &str) -> Option<String> {
    let Ok(text) = fs::read_to_string(root().join(file)) else {
        return Some(format!("there is no file {file}"));
    };
    let declared = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("rs") => is_test_of_rust(&text, name),
        Some("py") => name.starts_with("test_") && text.contains(&format!("def {name}(")),
        Some("mjs") => {
            ["'", "`", "\""].iter().any(|quote| text.contains(&format!("test({quote}{name}{quote}")))
        }
        Some("json") => text.contains(&format!("\"name\": \"{name}\"")),
        _ => false,
    };
    (!declared).then(|| format!("{file} has no test \"{name}\""))
}

/// The function, with `#[test]` or an attribute like it above.
fn is_test_of_rust(text: &str, name: &str) -> bool {
    let Some(at) = text.find(&format!("fn {name}(")) else { return false };
    let above = text[..at].trim_end().trim_end_matches("async").trim_end().lines().rev().map(str::trim_start);
    above
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
        .any(|line| line.starts_with("#[") && line.contains("test"))
}

#[test]
fn what_is_not_there_is_missed() {
    let place = || "here:1".to_owned();
    let row =
        |shown_by: &str| Row { place: place(), reference: "T01".into(), cells: 5, shown_by: shown_by.into() };
    let here = "`tests/laws/faults.rs`: `what_is_not_there_is_missed`";
    assert_eq!(problem(&row(here)), None);
    assert_eq!(problem(&row("waits for: streams")), None);
    assert_eq!(problem(&row("does not apply: no such thing")), None);
    for wrong in [
        "`tests/laws/faults.rs`: `what_is_missed`",
        "`tests/laws/faults.rs`: `is_test_of_rust`",
        "`tests/laws/nowhere.rs`: `what_is_not_there_is_missed`",
        &format!("{here}; `tests/FAULTS.md`: `a table`"),
        "waits for: better days",
        "does not apply: ",
        "",
    ] {
        assert!(problem(&row(wrong)).is_some(), "{wrong}");
    }
}
