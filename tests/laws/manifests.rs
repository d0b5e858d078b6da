//! One place says which version of what: the workspace. Every crate takes it from there, and the lints with it.

use crate::assert_kept;
use crate::tree::{Source, sources};

/// What each crate takes from the workspace.
const INHERITED: &[&str] = &[
    "version.workspace = true",
    "edition.workspace = true",
    "rust-version.workspace = true",
    "license.workspace = true",
];

#[test]
fn crates_take_versions_and_lints_from_the_workspace() {
    let mut violations = Vec::new();
    for manifest in crates() {
        let lacks = INHERITED.iter().filter(|line| !manifest.text.lines().any(|found| found == **line));
        violations.extend(lacks.map(|line| format!("{}:1: no {line}", manifest.path)));
        if !manifest.text.contains("[lints]\nworkspace = true\n") {
            violations.push(format!("{}:1: no lints of the workspace", manifest.path));
        }
        violations.extend(own_versions(&manifest));
    }
    assert_kept("one place says which version", &violations);
}

/// Those in the workspace; fuzzing has one of its own.
fn crates() -> Vec<Source> {
    let manifests = sources(&["Cargo.toml"]).into_iter();
    manifests.filter(|manifest| manifest.path != "Cargo.toml" && !manifest.path.contains("/fuzz/")).collect()
}

/// Dependencies with a version beside the workspace's.
fn own_versions(manifest: &Source) -> Vec<String> {
    let (mut violations, mut in_dependencies) = (Vec::new(), false);
    for (number, line) in (1..).zip(manifest.text.lines()) {
        if let Some(section) = line.strip_prefix('[') {
            in_dependencies = section.trim_end_matches(']').ends_with("dependencies");
        } else if in_dependencies && line.contains('=') && !line.starts_with('#') {
            let is_shared = line.contains("workspace = true") || line.contains("path = ");
            if !is_shared {
                violations.push(format!("{}:{number}: {line}", manifest.path));
            }
        }
    }
    violations
}

#[test]
fn a_version_of_its_own_is_seen() {
    let text = "[dependencies]\na.workspace = true\nb = { workspace = true, optional = true }\nc = \"1\"\n\n[features]\nd = [\"dep:b\"]\n\
                [target.'cfg(unix)'.dependencies]\ne = { version = \"2\" }\n";
    let manifest = Source { path: "Cargo.toml".into(), text: text.into(), is_test: false };
    assert_eq!(own_versions(&manifest), ["Cargo.toml:4: c = \"1\"", "Cargo.toml:9: e = { version = \"2\" }"]);
}
