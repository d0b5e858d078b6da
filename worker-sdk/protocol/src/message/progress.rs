//! PROGRESS: how far a call is (R38).

use super::encoded;
use crate::BodyError;
use crate::reader::Reader;
use crate::writer::Writer;

/// The body of a PROGRESS frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// What is done, in the function's own unit.
    pub done: f64,
    /// What there is to do, if known.
    pub total: Option<f64>,
    /// A line for people.
    pub note: Option<String>,
}

impl Progress {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.list(3);
            writer.float(self.done);
            writer.nullable(self.total, Writer::float);
            writer.nullable(self.note.as_deref(), Writer::str);
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
        let done = reader.field(&mut fields, Reader::float)?.unwrap_or_default();
        let total = reader.field(&mut fields, |reader| reader.nullable(Reader::float))?.flatten();
        let note = reader.field(&mut fields, |reader| reader.nullable(Reader::string))?.flatten();
        reader.end_fields(fields)?;
        reader.finish()?;
        Ok(Self { done, total, note })
    }
}
