//! STOP: end when the running calls have ended (R35).

use super::{encoded, read_map};
use crate::BodyError;

/// The body of a STOP frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Why, for the worker's log.
    pub reason: String,
    /// How long the host waits before it kills.
    pub timeout_ms: u64,
}

impl Default for Stop {
    fn default() -> Self {
        Self { reason: String::new(), timeout_ms: 5_000 }
    }
}

impl Stop {
    /// The body as it travels.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|writer| {
            writer.map(2);
            writer.str("reason");
            writer.str(&self.reason);
            writer.str("timeout_ms");
            writer.unsigned(self.timeout_ms);
        })
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &[u8]) -> Result<Self, BodyError> {
        read_map(body, |stop: &mut Self, reader, key| {
            match key {
                "reason" => stop.reason = reader.string()?,
                "timeout_ms" => stop.timeout_ms = reader.unsigned("timeout_ms")?,
                _ => reader.skip()?,
            }
            Ok(())
        })
    }
}
