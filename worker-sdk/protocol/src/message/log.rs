//! LOG: one record of a worker's log, about a call or about none (R38).

use super::encoded;
use crate::reader::{Outcome, Reader, wrong};
use crate::writer::Writer;
use crate::{BodyError, Value};

/// How grave a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// For who looks for a fault.
    Debug,
    /// The usual; also any level that this version does not know.
    #[default]
    Info,
    /// Something that should be looked at.
    Warning,
    /// Something failed.
    Error,
    /// The worker cannot go on as it should.
    Critical,
}

/// The body of a LOG frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// How grave.
    pub level: Level,
    /// Which logger wrote it.
    pub logger: String,
    /// The text.
    pub message: String,
    /// Structured fields: a map.
    pub fields: Option<Value>,
}

impl Level {
    /// The level as it travels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }

    fn from_name(name: &str) -> Self {
        match name {
            "debug" => Self::Debug,
            "warning" => Self::Warning,
            "error" => Self::Error,
            "critical" => Self::Critical,
            _ => Self::Info,
        }
    }
}

impl Log {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.list(4);
            writer.str(self.level.as_str());
            writer.str(&self.logger);
            writer.str(&self.message);
            writer.nullable(self.fields.as_ref(), Writer::value);
        })
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader::new(body);
        let mut fields = reader.begin_fields()?;
        let level = reader.field(&mut fields, Reader::str)?.map(Level::from_name).unwrap_or_default();
        let logger = reader.field(&mut fields, Reader::string)?.unwrap_or_default();
        let message = reader.field(&mut fields, Reader::string)?.unwrap_or_default();
        let extra = reader.field(&mut fields, |reader| reader.nullable(read_free_map))?.flatten();
        reader.end_fields(fields)?;
        reader.finish()?;
        Ok(Self { level, logger, message, fields: extra })
    }
}

/// A map whose keys and values are the sender's own business.
pub(super) fn read_free_map(reader: &mut Reader<'_>) -> Outcome<Value> {
    let marker = reader.peek()?;
    match Value::read(reader)? {
        map @ Value::Map(_) => Ok(map),
        Value::Nil
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Unsigned(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::List(_)
        | Value::Timestamp { .. } => Err(wrong("a map", marker)),
    }
}
