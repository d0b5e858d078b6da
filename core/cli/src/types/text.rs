//! Comments and indented lines of generated files.

use serde_json::Value;

/// Lines under one another, each behind the indent unless it is empty.
pub(super) fn indented(text: &str, indent: &str) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") };
    text.lines().map(line).collect()
}

/// The lines of a comment, without blank ones around them.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.trim().lines().map(str::trim_end).collect()
}

/// A plain value as it is written in source of TypeScript and JSON alike; None for lists and maps.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}
