//! Prose for generated files: names in backticks as the language spells them, and lines of a bearable length.

use crate::options::Surface;

/// A doc comment as text: without the space that each line of it begins with.
pub(super) fn prose(doc: &str, surface: Surface) -> String {
    let words = doc.split_whitespace().map(|word| own_word(word, surface)).collect::<Vec<_>>().join(" ");
    let parts = words.split('`').enumerate().map(|(index, part)| match index % 2 {
        // Codes are upper case and stay.
        1 if part.bytes().all(|b| b == b'_' || b.is_ascii_lowercase()) => surface.spell(part).into_owned(),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Python has its own words for some values.
fn own_word(word: &str, surface: Surface) -> &str {
    match (surface, word) {
        (Surface::Python, "null" | "Null") => "None",
        (Surface::Python, "null;") => "None;",
        (Surface::Python, "`true`") => "`True`",
        (Surface::Node | Surface::Python | Surface::Rust, word) => word,
    }
}

/// Breaks text into lines that begin with `indent` and fit the width.
pub(super) fn wrap(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent.len() + line.len() + 1 + word.len() > WIDTH {
            lines += &format!("{indent}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &format!("{indent}{line}\n")
}

const WIDTH: usize = 110;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_and_codes_are_not() {
        let doc = " Within `cancel_grace`\n fails with `QUEUE_FULL`, see `worker:exit`.";
        assert_eq!(
            prose(doc, Surface::Node),
            "Within `cancelGrace` fails with `QUEUE_FULL`, see `worker:exit`."
        );
    }

    #[test]
    fn lines_fit() {
        let wrapped = wrap(&"word ".repeat(100), "    # ");
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH && line.starts_with("    # ")));
    }
}
