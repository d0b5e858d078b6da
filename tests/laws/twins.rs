//! What stands in two packages, since neither may need the other: a change of one is a change of both.

use std::fs;

use crate::assert_kept;
use crate::tree::root;

/// What it begins with, and what comes after it.
type Passage = (&'static str, &'static str);

/// Two files, and passages that are the same in both.
const TWINS: &[(&str, &str, &[Passage])] = &[
    // A pickle with its buffers beside it, as app and worker lay it out.
    (
        "bindings-python/python/ganger/buffers.py",
        "worker-sdk/python/src/ganger_worker/buffers.py",
        &[
            ("class Pieces", "\n\n\n"),
            ("class Kept", "\n\n\n"),
            ("def laid_out(", "\n\n\n"),
            ("def loads(", "\n\n\n"),
        ],
    ),
    // The types of Python that cross in the form of another, both ways.
    (
        "bindings-python/python/ganger/_plain.py",
        "worker-sdk/python/src/ganger_worker/plain.py",
        &[("    sign, length = ", "\n\n\n"), ("    (bool, bool),", "\n    (dt.timedelta,")],
    ),
];

#[test]
fn twins_are_alike() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a twin can be read");
    let mut violations = Vec::new();
    for (path, other, passages) in TWINS {
        let (text, other_text) = (read(path), read(other));
        for (begins, ends) in *passages {
            let passage = passage(&text, begins, ends);
            assert!(passage.is_some(), "{path} has no passage {begins:?}");
            if passage != self::passage(&other_text, begins, ends) {
                violations.push(format!("{path}: {begins} differs from {other}"));
            }
        }
    }
    assert_kept("twins are alike", &violations);
}

/// From the line that begins so to what ends it, or to the end of the text.
fn passage<'a>(text: &'a str, begins: &str, ends: &str) -> Option<&'a str> {
    let at = text.find(&format!("\n{begins}"))? + 1;
    let end = text[at..].find(ends).map_or(text.trim_end().len(), |length| at + length);
    Some(&text[at..end])
}

#[test]
fn a_passage_ends_where_the_next_begins() {
    let text = "\ndef a():\n    b\n\n\ndef c():\n    d\n";
    assert_eq!(passage(text, "def a(", "\n\n\n"), Some("def a():\n    b"));
    assert_eq!(passage(text, "def c(", "\n\n\n"), Some("def c():\n    d"));
    assert_eq!(passage(text, "def e(", "\n\n\n"), None);
}
