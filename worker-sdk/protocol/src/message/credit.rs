//! CREDIT: the reader of a stream has room for more (R29).

use super::encoded;
use crate::BodyError;
use crate::reader::Reader;

/// The body of a CREDIT frame: what comes on top of the credit there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit {
    /// More items.
    pub items: u32,
    /// More bytes.
    pub bytes: u64,
}

impl Credit {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.list(2);
            writer.unsigned(self.items.into());
            writer.unsigned(self.bytes);
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
        let items = reader.field(&mut fields, |reader| reader.unsigned("items"))?.unwrap_or_default();
        let bytes = reader.field(&mut fields, |reader| reader.unsigned("bytes"))?.unwrap_or_default();
        reader.end_fields(fields)?;
        reader.finish()?;
        Ok(Self { items, bytes })
    }
}
