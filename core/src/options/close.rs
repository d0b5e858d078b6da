//! The options of closing a pool.

use serde_json::{Map, Value};

use super::table::{Field, OptionDefault, OptionKind, OptionRow, field};
use super::{Limit, OptionError, POOL_FIELDS, Surface, read};

/// How a pool is closed. What is `None` is as the pool's options say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloseOptions {
    /// How long queued and running calls may go on.
    pub timeout: Option<Limit>,
}

impl CloseOptions {
    /// Reads the options from a plain map.
    ///
    /// # Errors
    /// An option that is unknown, of the wrong type or out of range.
    pub fn parse(map: &Map<String, Value>, surface: Surface) -> Result<CloseOptions, OptionError> {
        let mut options = CloseOptions::default();
        read::fill(&mut options, map, surface, CLOSE_FIELDS, (POOL_FIELDS, "a pool, not of closing it"))?;
        Ok(options)
    }
}

/// Every option of closing a pool, in the order of the reference page.
pub fn close_options() -> impl Iterator<Item = &'static OptionRow> {
    CLOSE_FIELDS.iter().map(|field| &field.row)
}

#[rustfmt::skip] // A row is read across: what it is, then what it means.
static CLOSE_FIELDS: &[Field<CloseOptions>] = &[
    field("timeout", OptionKind::Duration { zero: true, never: true }, OptionDefault::Absent("`close_timeout` of the pool"),
        |o, v| o.timeout = Some(v.limit()),
        "How long queued and running calls may go on. What is left then fails with `POOL_CLOSED`."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn parse(value: Value) -> Result<CloseOptions, String> {
        let map = value.as_object().expect("a map").clone();
        CloseOptions::parse(&map, Surface::Node).map_err(|error| error.to_string())
    }

    #[test]
    fn a_timeout_may_be_zero_or_never_or_left_to_the_pool() {
        assert_eq!(parse(json!({})), Ok(CloseOptions::default()));
        assert_eq!(parse(json!({"timeout": 0})).unwrap().timeout, Some(Limit::After(Duration::ZERO)));
        assert_eq!(parse(json!({"timeout": "never"})).unwrap().timeout, Some(Limit::Never));
    }

    #[test]
    fn what_belongs_to_the_pool_is_said_to() {
        let refused = parse(json!({"stopTimeout": 1})).unwrap_err();
        assert!(refused.ends_with("it is an option of a pool, not of closing it"), "{refused}");
    }
}
