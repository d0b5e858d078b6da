//! A rule that was broken, or not seen to be kept.

use std::fmt;

use crate::rules::Rule;

/// What a trial ends with.
pub(super) type Kept<T = ()> = Result<T, Breach>;

/// A broken rule: what it asks for, and what came instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    pub(super) rule: Rule,
    pub(super) expected: String,
    pub(super) came: String,
}

impl Breach {
    pub(super) fn new(rule: Rule, expected: impl Into<String>, came: impl Into<String>) -> Self {
        Self { rule, expected: expected.into(), came: came.into() }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "expected {}; came {}", self.expected, self.came)
    }
}

/// Holds, or is a breach.
pub(super) fn ensure(holds: bool, rule: Rule, expected: &str, came: impl FnOnce() -> String) -> Kept {
    if holds { Ok(()) } else { Err(Breach::new(rule, expected, came())) }
}
