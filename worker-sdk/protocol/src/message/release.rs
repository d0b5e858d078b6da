//! RELEASE: blocks of a worker's result arena that the host has done with (R45).

use super::encoded;
use crate::BodyError;
use crate::reader::Reader;

/// The body of a RELEASE frame to a worker. To the host it has none: its `seq` says it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// Where the blocks begin.
    pub offsets: Vec<u64>,
}

impl Release {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.list(self.offsets.len());
            self.offsets.iter().for_each(|offset| writer.unsigned(*offset));
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
        let length = reader.begin_list()?;
        let offsets = (0..length).map(|_| reader.unsigned("offset")).collect::<Result<_, _>>()?;
        reader.leave();
        reader.finish()?;
        Ok(Self { offsets })
    }
}
