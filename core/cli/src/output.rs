//! Results on stdout: one line for a program, indented for a person.

use std::io::{self, IsTerminal, Write};

use ganger::Encoding;
use ganger_protocol::Value;
use serde_json::Value as Json;

use crate::failure::Failure;
use crate::json;

/// How results are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Texts and bytes as they are.
    raw: bool,
    indented: bool,
}

impl Output {
    /// For this stdout.
    pub(crate) fn new(raw: bool) -> Self {
        Self { raw, indented: io::stdout().is_terminal() }
    }

    /// The one result of a call.
    pub(crate) fn result(self, encoding: Encoding, payload: &[u8]) -> Result<(), Failure> {
        self.write(&value(encoding, payload)?, self.indented)
    }

    /// One of many, on a line of its own.
    pub(crate) fn item(self, encoding: Encoding, payload: &[u8]) -> Result<(), Failure> {
        self.write(&value(encoding, payload)?, false)
    }

    fn write(self, value: &Value, indented: bool) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        if self.raw
            && let Value::Bytes(bytes) = value
        {
            stdout.write_all(bytes)?;
        } else if self.raw
            && let Value::String(text) = value
        {
            stdout.write_all(text.as_bytes())?;
        } else {
            writeln!(stdout, "{}", text(&json::from_value(value), indented))?;
        }
        Ok(stdout.flush()?)
    }
}

/// JSON as text.
pub(crate) fn text(json: &Json, indented: bool) -> String {
    if indented { format!("{json:#}") } else { json.to_string() }
}

fn value(encoding: Encoding, payload: &[u8]) -> Result<Value, Failure> {
    match encoding {
        Encoding::Raw => Ok(Value::Bytes(payload.to_vec())),
        Encoding::MessagePack => {
            Value::decode(payload).map_err(|error| Failure::Unshowable(error.to_string()))
        }
        Encoding::Pickle5 => Err(Failure::Unshowable("it is a pickle".to_owned())),
    }
}
