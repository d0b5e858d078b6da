//! The language an app is written in: how it spells names, and how its values look in a message.

use serde_json::Value;
use std::borrow::Cow;

/// The language whose conventions options follow, and names in events, stats and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// camelCase names; a bare number is a duration in milliseconds.
    Node,
    /// snake_case names; a bare number is a duration in seconds.
    Python,
    /// snake_case names; a duration always has its unit.
    Rust,
}

impl Surface {
    /// The name as this language spells it.
    pub fn spell(self, name: &str) -> Cow<'_, str> {
        match self {
            Surface::Node if name.contains('_') => Cow::Owned(camel(name)),
            Surface::Node | Surface::Python | Surface::Rust => Cow::Borrowed(name),
        }
    }

    /// Whether `written` is how this language spells `name`. Compares in place: it runs for every option of every call.
    pub(crate) fn spells(self, name: &str, written: &str) -> bool {
        match self {
            Surface::Node => is_camel(name, written),
            Surface::Python | Surface::Rust => name == written,
        }
    }

    /// A value as it goes into a message, cut where it would no longer fit a line.
    pub(crate) fn show(self, value: &Value) -> String {
        let text = match (self, value) {
            (Surface::Python, Value::Bool(true)) => "True".to_owned(),
            (Surface::Python, Value::Bool(false)) => "False".to_owned(),
            (Surface::Python, Value::Null) => "None".to_owned(),
            (Surface::Node | Surface::Python | Surface::Rust, value) => value.to_string(),
        };
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// `max_queue_bytes` → `maxQueueBytes`.
pub fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                camel.push(letter.to_ascii_uppercase());
                upper = false;
            }
            letter => camel.push(letter),
        }
    }
    camel
}

fn is_camel(name: &str, written: &str) -> bool {
    let mut written = written.bytes();
    let mut upper = false;
    for byte in name.bytes() {
        if byte == b'_' {
            upper = true;
            continue;
        }
        let wanted = if upper { byte.to_ascii_uppercase() } else { byte };
        upper = false;
        if written.next() != Some(wanted) {
            return false;
        }
    }
    written.next().is_none()
}

const SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_the_language_does() {
        assert_eq!(Surface::Node.spell("max_queue_bytes"), "maxQueueBytes");
        assert_eq!(Surface::Python.spell("max_queue_bytes"), "max_queue_bytes");
        assert!(Surface::Node.spells("max_queue_bytes", "maxQueueBytes"));
        for wrong in ["max_queue_bytes", "maxQueueByte", "maxQueueBytesX", "MaxQueueBytes", ""] {
            assert!(!Surface::Node.spells("max_queue_bytes", wrong), "{wrong}");
        }
    }

    #[test]
    fn values_are_shown_in_the_language_and_cut() {
        assert_eq!(Surface::Python.show(&Value::Bool(true)), "True");
        assert_eq!(Surface::Node.show(&Value::Bool(true)), "true");
        let long = Surface::Node.show(&Value::String("é".repeat(500)));
        assert_eq!(long.chars().count(), SHOWN + 1);
    }
}
