//! What we build on may be given on, and some crates are not wanted at all.

use std::fs;
use std::sync::LazyLock;

use crate::arrows::{packages, text};
use crate::assert_kept;
use crate::tree::root;

/// What `make audit` goes by too.
static DENY: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string(root().join("deny.toml")).expect("deny.toml can be read"));

static ALLOWED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = list("allow").filter(|line| !line.starts_with('#'));
    lines.map(|line| line.trim_end_matches(',').trim_matches('"')).collect()
});

/// Crates that must not come in, not even through others, and why.
static BANNED: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let quoted = |line: &'static str| {
        let mut parts = line.split('"').skip(1).step_by(2);
        Some((parts.next()?, parts.next()?))
    };
    list("deny").filter_map(quoted).collect()
});

/// The lines of a list in deny.toml.
fn list(name: &str) -> impl Iterator<Item = &'static str> {
    let head = format!("\n{name} = [\n");
    let (_, after) = DENY.split_once(&head).expect("deny.toml has this list");
    after.lines().take_while(|line| *line != "]").map(str::trim)
}

#[test]
fn every_dependency_has_a_licence_that_lets_us_give_it_on() {
    let refused = |package: &&serde_json::Value| !allowed(text(package, "license"));
    let violations: Vec<_> = packages()
        .filter(refused)
        .map(|package| {
            let (name, version) = (text(package, "name"), text(package, "version"));
            format!("Cargo.lock:1: {name} {version} is under {:?}", text(package, "license"))
        })
        .collect();
    assert_kept(&format!("licences: one of {:?}", *ALLOWED), &violations);
}

#[test]
fn banned_crates_stay_out() {
    let mut violations = Vec::new();
    for package in packages() {
        let name = text(package, "name");
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            violations.push(format!("Cargo.lock:1: {name}: {why}"));
        }
    }
    assert_kept("some crates are not wanted", &violations);
}

/// Whether an SPDX expression lets us choose allowed licences only. `AND` binds closer than `OR`; the old `/` is an `OR`.
fn allowed(expression: &str) -> bool {
    let expression = expression.trim();
    if let Some((left, right)) = split_outside(expression, " OR ").or_else(|| split_outside(expression, "/"))
    {
        return allowed(left) || allowed(right);
    }
    if let Some((left, right)) = split_outside(expression, " AND ") {
        return allowed(left) && allowed(right);
    }
    match expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inside) => allowed(inside),
        None => ALLOWED.contains(&expression),
    }
}

/// Splits at the first `mark` that stands in no parentheses.
fn split_outside<'a>(expression: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let outside = |at: &usize| {
        let before = &expression[..*at];
        before.matches('(').count() == before.matches(')').count()
    };
    let at = expression.match_indices(mark).map(|(at, _)| at).find(outside)?;
    Some((&expression[..at], &expression[at + mark.len()..]))
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    for yes in [
        "MIT",
        "MIT/GPL-3.0",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "LGPL-2.1 OR Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(allowed(yes), "{yes}");
    }
    for no in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT AND LGPL-2.1) OR AGPL-3.0", "MPL-2.0"] {
        assert!(!allowed(no), "{no}");
    }
}

#[test]
fn deny_toml_is_read_whole() {
    assert!(ALLOWED.contains(&"MIT") && ALLOWED.contains(&"Apache-2.0 WITH LLVM-exception"));
    assert!(BANNED.contains(&("openssl", "nothing here speaks TLS")));
}
