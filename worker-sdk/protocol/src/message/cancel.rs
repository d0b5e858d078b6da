//! CANCEL: ask a call to stop (R25 to R28).

use super::encoded;
use crate::BodyError;
use crate::reader::Reader;

/// Why a call is asked to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CancelReason {
    /// The caller gave it up; also any reason that this version does not know.
    #[default]
    Cancel,
    /// Its attempt took too long.
    Timeout,
    /// Its deadline is past.
    Deadline,
    /// The worker is to end.
    Stop,
}

/// The body of a CANCEL frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cancel {
    /// Why.
    pub reason: CancelReason,
}

impl CancelReason {
    /// The reason as it travels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Timeout => "timeout",
            Self::Deadline => "deadline",
            Self::Stop => "stop",
        }
    }

    fn from_name(name: &str) -> Self {
        match name {
            "timeout" => Self::Timeout,
            "deadline" => Self::Deadline,
            "stop" => Self::Stop,
            _ => Self::Cancel,
        }
    }
}

impl Cancel {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.list(1);
            writer.str(self.reason.as_str());
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
        let name = reader.field(&mut fields, Reader::str)?;
        reader.end_fields(fields)?;
        reader.finish()?;
        Ok(Self { reason: name.map(CancelReason::from_name).unwrap_or_default() })
    }
}
