//! The 24 bytes before every frame, the limits they are held to, and what can be wrong with frames.

use crate::{Flags, Kind};

/// How long a header is.
pub const HEADER_LENGTH: usize = 24;

/// The most bytes a body may have (R6).
pub const MAX_BODY_LENGTH: u32 = 16 * 1024 * 1024;

/// The most bytes a payload may have unless WELCOME says otherwise.
pub const MAX_PAYLOAD_LENGTH: u64 = 4 * 1024 * 1024 * 1024;

/// What a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a body; more is a violation.
    pub max_body: u32,
    /// The most bytes of a payload, whole or in chunks; more fails one call.
    pub max_payload: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_body: MAX_BODY_LENGTH, max_payload: MAX_PAYLOAD_LENGTH }
    }
}

/// What is wrong with a frame. All but [`PayloadTooLarge`](FrameError::PayloadTooLarge) are violations (R40).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// `body_length` exceeds `length` (R4).
    #[error("the header says {body_length} bytes of body in a frame of {length}")]
    BodyLongerThanFrame {
        /// Bytes of the body, as the header says.
        body_length: u32,
        /// Bytes of body and payload, as the header says.
        length: u64,
    },
    /// The body has more bytes than the limit (R6).
    #[error("a {kind} frame with {length} bytes of body, the limit is {limit}")]
    BodyTooLarge {
        /// The frame's kind.
        kind: Kind,
        /// Bytes of the body.
        length: u32,
        /// The most that is accepted.
        limit: u32,
    },
    /// A critical frame of an unknown kind.
    #[error("a critical frame of the unknown kind {kind}")]
    UnknownCriticalKind {
        /// The number of the kind.
        kind: u8,
    },
    /// The payload is larger than the limit. It fails one call, never the link: the reader goes on with the
    /// next frame (R6).
    #[error("the payload of a {kind} frame has {length} bytes, the limit is {limit}")]
    PayloadTooLarge {
        /// The call's number on this link.
        seq: u64,
        /// The frame's kind.
        kind: Kind,
        /// Bytes of the payload.
        length: u64,
        /// The most that is accepted.
        limit: u64,
    },
    /// The first frame of a chunked payload has no room for the total (R9).
    #[error("the chunked payload of seq {seq} begins without its total")]
    ChunkTotalMissing {
        /// The call's number on this link.
        seq: u64,
    },
    /// The pieces of a chunked payload do not add up to the total (R9).
    #[error("the chunks of seq {seq} add up to {received} bytes, {total} were announced")]
    ChunkSumWrong {
        /// The call's number on this link.
        seq: u64,
        /// What the first frame announced.
        total: u64,
        /// What came.
        received: u64,
    },
    /// A CHUNK whose first frame never came.
    #[error("a chunk for seq {seq}, which has no payload under way")]
    ChunkWithoutStart {
        /// The call's number on this link.
        seq: u64,
    },
    /// A second chunked payload began before the first of the same seq had ended (R10).
    #[error("a second chunked payload for seq {seq} while one is under way")]
    ChunksOverlap {
        /// The call's number on this link.
        seq: u64,
    },
    /// More chunked payloads under way than any host would allow.
    #[error("more than {limit} chunked payloads under way")]
    TooManyChunked {
        /// The most that are accepted at once.
        limit: usize,
    },
}

impl FrameError {
    /// Whether the link must end. Only an oversize payload lets it live.
    #[must_use]
    pub const fn is_violation(&self) -> bool {
        !matches!(self, Self::PayloadTooLarge { .. })
    }
}

/// A frame's header. The kind stays a number here: a reader may have to skip one it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes that follow the header.
    pub length: u64,
    /// Bytes of the body.
    pub body_length: u32,
    /// The number of the kind.
    pub kind: u8,
    /// The flags.
    pub flags: Flags,
    /// The number on this link of the call or ping that the frame is about; 0 for none.
    pub seq: u64,
}

impl Header {
    /// The header as it travels.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        bytes[0..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.body_length.to_le_bytes());
        bytes[12] = self.kind;
        bytes[13] = self.flags.0;
        bytes[16..24].copy_from_slice(&self.seq.to_le_bytes());
        bytes
    }

    /// Reads a header and holds it to the limits.
    ///
    /// # Errors
    /// Everything that a [`FrameError`] says about a single header.
    pub fn parse(bytes: &[u8; HEADER_LENGTH], limits: &Limits) -> Result<Self, FrameError> {
        let header = Self::read(bytes);
        header.check(limits)?;
        Ok(header)
    }

    /// Bytes of the payload.
    #[must_use]
    pub const fn payload_length(&self) -> u64 {
        self.length.saturating_sub(self.body_length as u64)
    }

    /// Reads a header as it is, whatever it says.
    #[must_use]
    pub fn read(bytes: &[u8; HEADER_LENGTH]) -> Self {
        let [l0, l1, l2, l3, l4, l5, l6, l7, b0, b1, b2, b3, kind, flags, _, _, seq @ ..] = *bytes;
        Self {
            length: u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]),
            body_length: u32::from_le_bytes([b0, b1, b2, b3]),
            kind,
            flags: Flags(flags),
            seq: u64::from_le_bytes(seq),
        }
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<(), FrameError> {
        if u64::from(self.body_length) > self.length {
            return Err(FrameError::BodyLongerThanFrame {
                body_length: self.body_length,
                length: self.length,
            });
        }
        let Some(kind) = Kind::from_u8(self.kind) else {
            if self.flags.contains(Flags::CRITICAL) {
                return Err(FrameError::UnknownCriticalKind { kind: self.kind });
            }
            return Ok(());
        };
        if self.body_length > limits.max_body {
            return Err(FrameError::BodyTooLarge { kind, length: self.body_length, limit: limits.max_body });
        }
        // A first chunk carries its total in 8 bytes of its own.
        let extra = if self.flags.contains(Flags::MORE) { 8 } else { 0 };
        if self.payload_length() > limits.max_payload.saturating_add(extra) {
            return Err(FrameError::PayloadTooLarge {
                seq: self.seq,
                kind,
                length: self.payload_length(),
                limit: limits.max_payload,
            });
        }
        Ok(())
    }
}
