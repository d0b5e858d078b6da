//! A whole frame and the bytes it travels as.

use bytes::Bytes;

use crate::{Encoding, Flags, HEADER_LENGTH, Header, Kind};

/// One frame. Body and payload are shared slices: cloning a frame copies nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// Its flags.
    pub flags: Flags,
    /// The number on this link of the call or ping it is about; 0 for none.
    pub seq: u64,
    /// One MessagePack value, or empty.
    pub body: Bytes,
    /// Opaque bytes in the encoding that the flags name.
    pub payload: Bytes,
}

impl Frame {
    /// A frame with neither body nor payload, critical if its kind is.
    #[must_use]
    pub const fn new(kind: Kind, seq: u64) -> Self {
        let flags = if kind.is_critical() { Flags::CRITICAL } else { Flags::NONE };
        Self { kind, flags, seq, body: Bytes::new(), payload: Bytes::new() }
    }

    /// This frame with a body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// This frame with a payload.
    #[must_use]
    pub fn with_payload(mut self, encoding: Encoding, payload: impl Into<Bytes>) -> Self {
        self.flags = self.flags.with_encoding(encoding);
        self.payload = payload.into();
        self
    }

    /// The header of this frame.
    #[must_use]
    pub fn header(&self) -> Header {
        let body_length = u32::try_from(self.body.len()).expect("a body is far below 4 GiB");
        Header {
            length: self.body.len() as u64 + self.payload.len() as u64,
            body_length,
            kind: self.kind as u8,
            flags: self.flags,
            seq: self.seq,
        }
    }

    /// How many bytes the frame has on the wire.
    #[must_use]
    pub fn encoded_length(&self) -> u64 {
        HEADER_LENGTH as u64 + self.body.len() as u64 + self.payload.len() as u64
    }

    /// Header and body joined: what goes before the payload in a vectored write.
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::with_capacity(HEADER_LENGTH + self.body.len());
        self.head_into(&mut head);
        head
    }

    /// Appends header and body to a buffer that the caller reuses.
    pub fn head_into(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.header().to_bytes());
        buffer.extend_from_slice(&self.body);
    }

    /// The whole frame in one piece. It copies the payload: for small frames and tests.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_LENGTH + self.body.len() + self.payload.len());
        self.head_into(&mut bytes);
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}
