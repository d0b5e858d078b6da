//! The wire between a Ganger host and its workers: frames, messages and the values in them.
//!
//! `SPEC.md` beside this crate is the law; this is its Rust side, used by the host and by the Rust SDK. There
//! is no IO here: bytes go into a [`Decoder`], frames come out; frames give their bytes with [`Frame::head`]
//! and their payload.
//!
//! ```
//! use ganger_protocol::{Decoder, Encoding, Frame, Kind, Limits, message::Call};
//!
//! let call = Call::new("prices.convert");
//! let sent = Frame::new(Kind::Call, 1).with_body(call.encode()).with_payload(Encoding::Raw, "3 EUR");
//!
//! let mut decoder = Decoder::new(Limits::default());
//! decoder.buffer().extend_from_slice(&sent.to_bytes());
//! let received = decoder.next()?.expect("the whole frame is there");
//! assert_eq!(received, sent);
//! assert_eq!(Call::decode(&received.body)?.function, "prices.convert");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod blocks;
mod chunks;
mod decoder;
mod encoding;
mod frame;
mod header;
mod kind;
pub mod message;
mod reader;
mod reference;
mod value;
mod writer;

pub use blocks::{Blocks, Extent};
pub use bytes::{Bytes, BytesMut};
pub use chunks::{Assembler, split_into_chunks};
pub use decoder::Decoder;
pub use encoding::{Encoding, Flags};
pub use frame::Frame;
pub use header::{FrameError, HEADER_LENGTH, Header, Limits, MAX_BODY_LENGTH, MAX_PAYLOAD_LENGTH};
pub use kind::{Direction, Kind, Lane};
pub use reader::{BodyError, MAX_DEPTH, MAX_VALUE_DEPTH};
pub use reference::{Arena, Reference};
pub use value::Value;

/// The version of the protocol that this crate speaks.
pub const VERSION: u16 = 1;

/// How many items a stream may send before it hears of credit (R29).
pub const STREAM_CREDIT_ITEMS: u32 = 64;

/// How many bytes a stream may send before it hears of credit (R29).
pub const STREAM_CREDIT_BYTES: u64 = 4 * 1024 * 1024;

/// The exit code of a worker that saw a violation (R40).
pub const VIOLATION_EXIT_CODE: i32 = 70;
