//! Which crate may know which: arrows point down the house, and the scheduler stands alone.

use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::assert_kept;
use crate::tree::root;

/// What each crate may use of the others. One that is not listed may use nothing until it says so here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("ganger-scheduler", &[]),
    ("ganger-protocol", &[]),
    ("ganger-shim", &[]),
    ("ganger", &["ganger-scheduler", "ganger-protocol", "ganger-shim"]),
    ("ganger-worker", &["ganger-protocol", "ganger-worker-derive"]),
    ("ganger-worker-derive", &[]),
    ("ganger-wasm", &["ganger-protocol", "ganger-worker"]),
    ("ganger-cli", &["ganger", "ganger-protocol"]),
    ("ganger-worker-node", &[]),
    ("ganger-node", &["ganger"]),
    ("ganger-python", &["ganger"]),
    ("behavior-worker", &["ganger-worker"]),
    ("ganger-tests", &["ganger", "ganger-protocol", "ganger-scheduler", "ganger-worker"]),
];

/// Examples see what users see.
const EXAMPLES_MAY_USE: &[&str] = &["ganger", "ganger-worker"];

pub(crate) static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
});

pub(crate) fn packages() -> impl Iterator<Item = &'static Value> {
    METADATA["packages"].as_array().expect("there are packages").iter()
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn ours() -> impl Iterator<Item = &'static Value> {
    packages().filter(|package| package["source"].is_null())
}

/// Names of what a package needs to be built, tests aside.
fn needs(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().expect("there is a list").iter();
    all.filter(|dependency| dependency["kind"].as_str() != Some("dev"))
        .map(|dependency| text(dependency, "name"))
}

#[test]
fn arrows_between_crates_point_one_way() {
    let names: Vec<_> = ours().map(|package| text(package, "name")).collect();
    let mut violations = Vec::new();
    for package in ours() {
        let (name, manifest) = (text(package, "name"), text(package, "manifest_path"));
        let listed = MAY_USE.iter().find(|(known, _)| *known == name).map(|&(_, may)| may);
        let may = if manifest.contains("/examples/") { EXAMPLES_MAY_USE } else { listed.unwrap_or_default() };
        for need in needs(package).filter(|need| names.contains(need) && !may.contains(need)) {
            violations.push(format!("{manifest}:1: {name} must not know {need}"));
        }
    }
    assert_kept("bindings → core → {scheduler, protocol, shim}; Rust SDK → protocol", &violations);
}

#[test]
fn the_scheduler_has_no_dependencies() {
    let scheduler =
        ours().find(|package| text(package, "name") == "ganger-scheduler").expect("there is a scheduler");
    assert_eq!(needs(scheduler).collect::<Vec<_>>(), [""; 0]);
}
