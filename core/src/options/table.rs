//! What one option is: the shape of the rows that parsing, types and reference pages derive from.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Limit, duration, size};

/// One option: all that is known of it, wherever it is needed.
#[derive(Debug)]
pub struct OptionRow {
    /// In snake_case, as Rust and Python spell it.
    pub name: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// What it is when left out.
    pub default: OptionDefault,
    /// What it does and what it costs, in a sentence or two.
    pub doc: &'static str,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// A program and its arguments: a list of texts with at least one.
    Argv,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number between two bounds, both included.
    Count {
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// A span of time: a bare number in the unit of the language, or text with units.
    Duration {
        /// Whether 0 means something.
        zero: bool,
        /// Whether the word `never` means something.
        never: bool,
    },
    /// Variables for a process: names and texts, where null removes one that it would inherit.
    Env,
    /// Yes or no.
    Flag,
    /// Yes, no, or a path.
    FlagOrPath,
    /// A path, or a name that stands for one.
    Path,
    /// A size in bytes: a bare number of megabytes, or text with a unit.
    Size {
        /// 0 is a size too.
        zero: bool,
    },
    /// Text that is not empty.
    Text,
    /// Texts, at least one.
    Texts,
    /// Names and texts.
    TextMap,
}

/// What an option is when left out or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionDefault {
    /// Nothing; the text says what that means.
    Absent(&'static str),
    /// So many bytes.
    Bytes(u64),
    /// This word.
    Choice(&'static str),
    /// This number.
    Count(i64),
    /// So many milliseconds.
    Milliseconds(u64),
}

/// A value that fits its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OptionValue {
    Choice(&'static str),
    Count(i64),
    Duration(Duration),
    Env(BTreeMap<String, Option<String>>),
    Flag(bool),
    List(Vec<String>),
    Never,
    Size(u64),
    Text(String),
    TextMap(BTreeMap<String, String>),
}

/// A row and the field of `T` that it fills.
pub(crate) struct Field<T> {
    pub(crate) row: OptionRow,
    pub(crate) set: fn(&mut T, OptionValue),
}

/// A row of a table. The order is that of the reference page: name, kind, default, field, text.
pub(crate) const fn field<T>(
    name: &'static str,
    kind: OptionKind,
    default: OptionDefault,
    set: fn(&mut T, OptionValue),
    doc: &'static str,
) -> Field<T> {
    Field { row: OptionRow { name, kind, default, doc }, set }
}

impl OptionDefault {
    /// The default as text.
    pub fn text(&self) -> String {
        match *self {
            OptionDefault::Absent(text) => text.to_owned(),
            OptionDefault::Bytes(bytes) => size::text(bytes),
            OptionDefault::Choice(word) => word.to_owned(),
            OptionDefault::Count(count) => count.to_string(),
            OptionDefault::Milliseconds(milliseconds) => duration::text(Duration::from_millis(milliseconds)),
        }
    }

    pub(crate) fn value(&self) -> Option<OptionValue> {
        match *self {
            OptionDefault::Absent(_) => None,
            OptionDefault::Bytes(bytes) => Some(OptionValue::Size(bytes)),
            OptionDefault::Choice(word) => Some(OptionValue::Choice(word)),
            OptionDefault::Count(count) => Some(OptionValue::Count(count)),
            OptionDefault::Milliseconds(milliseconds) => {
                Some(OptionValue::Duration(Duration::from_millis(milliseconds)))
            }
        }
    }
}

/// What a setter of a table takes out of its value. The kind of the row decides which one fits, and the tests set every row once.
impl OptionValue {
    pub(crate) fn count<N: TryFrom<i64>>(self) -> N {
        let OptionValue::Count(count) = self else { unreachable!("{self:?} is not a count") };
        N::try_from(count).ok().expect("the bounds of the row fit the field")
    }

    pub(crate) fn duration(self) -> Duration {
        let OptionValue::Duration(duration) = self else { unreachable!("{self:?} is not a duration") };
        duration
    }

    pub(crate) fn limit(self) -> Limit {
        if self == OptionValue::Never { Limit::Never } else { Limit::After(self.duration()) }
    }

    pub(crate) fn choice(self) -> &'static str {
        let OptionValue::Choice(word) = self else { unreachable!("{self:?} is not a choice") };
        word
    }

    pub(crate) fn flag(self) -> bool {
        let OptionValue::Flag(flag) = self else { unreachable!("{self:?} is not a flag") };
        flag
    }

    pub(crate) fn list(self) -> Vec<String> {
        let OptionValue::List(list) = self else { unreachable!("{self:?} is not a list") };
        list
    }

    pub(crate) fn env(self) -> BTreeMap<String, Option<String>> {
        let OptionValue::Env(env) = self else { unreachable!("{self:?} is not an environment") };
        env
    }

    pub(crate) fn size(self) -> u64 {
        let OptionValue::Size(size) = self else { unreachable!("{self:?} is not a size") };
        size
    }

    pub(crate) fn text(self) -> String {
        let OptionValue::Text(text) = self else { unreachable!("{self:?} is not a text") };
        text
    }

    pub(crate) fn text_map(self) -> BTreeMap<String, String> {
        let OptionValue::TextMap(map) = self else { unreachable!("{self:?} is not a map of texts") };
        map
    }
}
