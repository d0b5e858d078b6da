//! What lies in the house at all: the rooms and papers at its root, and nothing that a tool left behind.

use std::process::Command;

use crate::assert_kept;
use crate::tree::root;

/// Everything that may lie at the root. A new room is a decision; it is written down here.
const AT_THE_ROOT: &[&str] = &[
    ".ci",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "bindings-node",
    "bindings-python",
    "clippy.toml",
    "core",
    "deny.toml",
    "docs",
    "examples",
    "ruff.toml",
    "rustfmt.toml",
    "tests",
    "worker-sdk",
];

/// Endings of what editors, merges, profilers and compilers leave.
const LEFTOVERS: &[&str] = &[".bak", ".log", ".node", ".orig", ".pyc", ".rej", ".so", ".swp", ".tmp"];

#[test]
fn the_root_holds_the_rooms_and_the_papers() {
    let violations: Vec<_> = committed()
        .into_iter()
        .filter(|path| !AT_THE_ROOT.contains(&path.split('/').next().expect("a path has a beginning")))
        .collect();
    assert_kept("nothing else at the root", &violations);
}

#[test]
fn nothing_is_committed_that_a_tool_left() {
    let is_left = |path: &String| LEFTOVERS.iter().any(|ending| path.ends_with(ending));
    let violations: Vec<_> = committed().into_iter().filter(is_left).collect();
    assert_kept("sources only", &violations);
}

/// Paths that git keeps, from the root; none where the sources came without git.
fn committed() -> Vec<String> {
    let Ok(output) = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output() else {
        return Vec::new();
    };
    let paths = String::from_utf8_lossy(&output.stdout).into_owned();
    paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}
