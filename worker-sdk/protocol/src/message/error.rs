//! ERROR: what went wrong in a call or at the start, with its causes (SPEC chapter 6).

use super::log::read_free_map;
use super::{encoded, read_map};
use crate::reader::{Outcome, Reader};
use crate::value::read_list;
use crate::writer::Writer;
use crate::{BodyError, MAX_BODY_LENGTH, Value};

/// How many causes a report carries.
pub const MAX_CAUSES: usize = 16;

/// Where a message is cut (R32).
pub const MAX_MESSAGE_LENGTH: usize = 64 * 1024;

/// Where a traceback is cut (R32).
pub const MAX_TRACEBACK_LENGTH: usize = 256 * 1024;

/// The codes that a worker reports.
pub mod code {
    /// The function's own error.
    pub const CALL_FAILED: &str = "CALL_FAILED";
    /// The worker has no such function.
    pub const NO_SUCH_FUNCTION: &str = "NO_SUCH_FUNCTION";
    /// The input does not fit the function.
    pub const INVALID_INPUT: &str = "INVALID_INPUT";
    /// The result cannot be encoded.
    pub const INVALID_RESULT: &str = "INVALID_RESULT";
    /// A payload is larger than the host takes.
    pub const PAYLOAD_TOO_LARGE: &str = "PAYLOAD_TOO_LARGE";
    /// The call ended because it was cancelled.
    pub const CANCELLED: &str = "CANCELLED";
    /// Loading the code or a start-up hook failed.
    pub const START_FAILED: &str = "START_FAILED";
}

/// The body of an ERROR frame, and the shape of each of its causes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorReport {
    /// Whose fault it is, one of [`code`]; empty in a cause.
    pub code: String,
    /// The error's type in its own language.
    pub error_type: String,
    /// The text, without the type.
    pub message: String,
    /// Where it happened, in the language's own form.
    pub traceback: Option<String>,
    /// The language it comes from.
    pub language: String,
    /// The error's own properties: a map.
    pub properties: Option<Value>,
    /// The names of properties that could not be encoded.
    pub dropped: Option<Vec<String>>,
    /// The next error of the chain.
    pub cause: Option<Box<ErrorReport>>,
    /// Where in an input or a result the misfit is.
    pub path: Option<String>,
}

impl ErrorReport {
    /// A report with a code and a text.
    #[must_use]
    pub fn new(code: &str, error_type: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            error_type: error_type.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The body as it travels, texts and the chain of causes cut to their limits. Making it must not fail (R32): properties that make
    /// it too long or too deep to be read are left out.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = encoded(|writer| self.write(writer, 0));
        let is_sound = body.len() <= MAX_BODY_LENGTH as usize && Self::decode(&body).is_ok();
        if is_sound { body } else { encoded(|writer| self.clone().without_properties().write(writer, 0)) }
    }

    fn without_properties(mut self) -> Self {
        if let Some(Value::Map(properties)) = self.properties.take() {
            self.dropped.get_or_insert_default().extend(properties.into_iter().map(|(name, _)| name));
        }
        self.cause = self.cause.map(|cause| Box::new(cause.without_properties()));
        self
    }

    /// Reads a body. Causes beyond the limit are left out.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        read_map(body, |report: &mut Self, reader, key| report.read_entry(reader, key, 0))
    }

    fn write(&self, writer: &mut Writer<'_>, depth: usize) {
        let cause = self.cause.as_ref().filter(|_| depth < MAX_CAUSES);
        let entries = 3
            + usize::from(!self.code.is_empty())
            + usize::from(self.traceback.is_some())
            + usize::from(self.properties.is_some())
            + usize::from(self.dropped.is_some())
            + usize::from(cause.is_some())
            + usize::from(self.path.is_some());
        writer.map(entries);
        if !self.code.is_empty() {
            write_text(writer, "code", &self.code);
        }
        write_text(writer, "type", &self.error_type);
        write_text(writer, "message", cut(&self.message, MAX_MESSAGE_LENGTH));
        write_text(writer, "language", &self.language);
        self.write_optional(writer);
        if let Some(cause) = cause {
            writer.str("cause");
            cause.write(writer, depth + 1);
        }
    }

    fn write_optional(&self, writer: &mut Writer<'_>) {
        if let Some(traceback) = &self.traceback {
            write_text(writer, "traceback", cut(traceback, MAX_TRACEBACK_LENGTH));
        }
        if let Some(properties) = &self.properties {
            writer.str("properties");
            writer.value(properties);
        }
        if let Some(dropped) = &self.dropped {
            writer.str("dropped");
            writer.list(dropped.len());
            dropped.iter().for_each(|name| writer.str(name));
        }
        if let Some(path) = &self.path {
            write_text(writer, "path", path);
        }
    }

    fn read_entry(&mut self, reader: &mut Reader<'_>, key: &str, depth: usize) -> Outcome<()> {
        match key {
            "code" => self.code = reader.string()?,
            "type" => self.error_type = reader.string()?,
            "message" => self.message = reader.string()?,
            "traceback" => self.traceback = reader.nullable(|reader| reader.string())?,
            "language" => self.language = reader.string()?,
            "properties" => self.properties = reader.nullable(read_free_map)?,
            "dropped" => {
                self.dropped = reader.nullable(|reader| read_list(reader, |reader| reader.string()))?;
            }
            "cause" if depth < MAX_CAUSES => {
                self.cause = reader.nullable(|reader| Self::read_cause(reader, depth + 1))?.map(Box::new);
            }
            "path" => self.path = reader.nullable(|reader| reader.string())?,
            _ => reader.skip()?,
        }
        Ok(())
    }

    fn read_cause(reader: &mut Reader<'_>, depth: usize) -> Outcome<Self> {
        let mut cause = Self::default();
        reader.map(|reader, key| cause.read_entry(reader, key, depth))?;
        Ok(cause)
    }
}

fn write_text(writer: &mut Writer<'_>, key: &str, text: &str) {
    writer.str(key);
    writer.str(text);
}

/// The longest beginning of a text that fits and does not cut a character.
fn cut(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_that_nobody_could_read_are_dropped_and_the_message_survives() {
        let deep = (0..100).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
        let long = Value::Bytes(vec![0; MAX_BODY_LENGTH as usize]);
        for property in [deep, long] {
            let mut report = ErrorReport::new(code::CALL_FAILED, "ValueError", "too big");
            report.properties = Some(Value::Map(vec![("what".to_owned(), property)]));
            let read = ErrorReport::decode(&report.encode()).unwrap();
            assert_eq!(read.message, "too big");
            assert_eq!(read.dropped, Some(vec!["what".to_owned()]));
        }
    }

    #[test]
    fn texts_and_chains_are_cut() {
        let mut report = ErrorReport::new(code::CALL_FAILED, "E", "é".repeat(MAX_MESSAGE_LENGTH));
        report.traceback = Some("t".repeat(MAX_TRACEBACK_LENGTH + 1));
        for _ in 0..40 {
            report = ErrorReport { cause: Some(Box::new(report.clone())), ..report };
        }
        let read = ErrorReport::decode(&report.encode()).unwrap();
        assert_eq!(read.message.len(), MAX_MESSAGE_LENGTH);
        assert_eq!(read.traceback.as_ref().unwrap().len(), MAX_TRACEBACK_LENGTH);
        let causes = std::iter::successors(read.cause.as_ref(), |cause| cause.cause.as_ref()).count();
        assert_eq!(causes, MAX_CAUSES);
    }
}
