//! What a function is called with: from the command line, a file or stdin.

use std::fs;
use std::io::{self, Read};

use ganger::Input;
use ganger_protocol::Value;

use crate::json;

/// Why there is no input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("cannot read the input from {place}: {error}")]
    Unreadable { place: String, error: io::Error },
    #[error("the input is no JSON: {error}{}", hint(text))]
    NotJson { text: String, error: serde_json::Error },
    #[error("line {number} of the items is no JSON: {error}")]
    LineNotJson { number: usize, error: serde_json::Error },
}

impl InputError {
    pub(crate) fn unreadable(place: &str, error: io::Error) -> Self {
        Self::Unreadable { place: place.to_owned(), error }
    }
}

/// The input that an argument stands for.
pub(crate) fn read(argument: Option<&str>, raw: bool) -> Result<Input, InputError> {
    let bytes = match argument {
        None if raw => Vec::new(),
        None => return Ok(Input::message_pack(Value::Nil.encode())),
        Some("-") => of_stdin()?,
        Some(argument) => match argument.strip_prefix('@') {
            Some(path) => fs::read(path).map_err(|error| InputError::unreadable(path, error))?,
            None => argument.as_bytes().to_vec(),
        },
    };
    if raw {
        return Ok(Input::raw(bytes));
    }
    let not_json = |error| InputError::NotJson { text: String::from_utf8_lossy(&bytes).into_owned(), error };
    let value = serde_json::from_slice(&bytes).map_err(not_json)?;
    Ok(Input::message_pack(json::to_value(value).encode()))
}

/// The text of a file, or of stdin.
pub(crate) fn text(place: &str) -> Result<String, InputError> {
    if place == "-" {
        return io::read_to_string(io::stdin()).map_err(|error| InputError::unreadable("stdin", error));
    }
    fs::read_to_string(place).map_err(|error| InputError::unreadable(place, error))
}

fn of_stdin() -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| InputError::unreadable("stdin", error))?;
    Ok(bytes)
}

/// The mistake that everybody makes once.
fn hint(text: &str) -> String {
    let word = text.trim();
    let bare = !word.is_empty() && word.len() < 80 && !word.starts_with(['{', '[', '"', '\'']);
    if bare { format!("; a text is written '\"{word}\"' (or --raw), a file @{word}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(argument: Option<&str>) -> Value {
        Value::decode(&read(argument, false).unwrap().payload).unwrap()
    }

    #[test]
    fn json_a_file_and_nothing_are_inputs() {
        assert_eq!(value(None), Value::Nil);
        assert_eq!(value(Some("-5")), Value::Integer(-5));
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "[1]").unwrap();
        let argument = format!("@{}", file.path().display());
        assert_eq!(value(Some(&argument)), Value::List(vec![1.into()]));
        assert_eq!(&read(Some("plain"), true).unwrap().payload[..], b"plain");
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let text = read(Some("hello"), false).unwrap_err().to_string();
        assert!(text.contains("'\"hello\"'") && text.contains("@hello"), "{text}");
        let text = read(Some("@/nowhere/input.json"), false).unwrap_err().to_string();
        assert!(text.contains("/nowhere/input.json"), "{text}");
    }
}
