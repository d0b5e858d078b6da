//! Bytes in, frames out, whatever pieces the bytes come in.

use bytes::{Buf, BytesMut};

use crate::{Frame, FrameError, HEADER_LENGTH, Header, Kind, Limits};

/// Room that a read is offered between frames; small frames share one such buffer.
const READ_LENGTH: usize = 64 * 1024;

/// Less spare room than this is not worth a read.
const LEAST_SPARE: usize = 8 * 1024;

/// The most memory reserved on the word of a header alone. What is longer grows by doubling while bytes
/// really come.
const RESERVE_LENGTH: usize = 64 * 1024 * 1024;

/// An incremental reader of frames.
///
/// Read into [`buffer`](Self::buffer), then call [`next`](Self::next) until it gives `None`. Frames are
/// slices of the buffer, not copies; a payload beyond the shared buffer gets an allocation of its own,
/// reserved once. So a small payload that is kept keeps the read it came in: copy what lives long.
#[derive(Debug)]
pub struct Decoder {
    buffer: BytesMut,
    limits: Limits,
    state: State,
}

#[derive(Debug)]
enum State {
    /// At the start of a header.
    Header,
    /// The header is read, its bytes are not all here.
    Rest(Header, Kind),
    /// Throwing away what is left of a frame.
    Skip { left: u64 },
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { buffer: BytesMut::new(), limits, state: State::Header }
    }

    /// Other limits from the next header on: WELCOME names them.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The buffer to append received bytes to, with room for a read worth making.
    pub fn buffer(&mut self) -> &mut BytesMut {
        let spare = self.buffer.capacity() - self.buffer.len();
        let wanted = match self.state {
            State::Rest(header, _) => room_for(header.length, self.buffer.len()),
            State::Header | State::Skip { .. } => LEAST_SPARE,
        };
        if spare < wanted.min(LEAST_SPARE) || (spare < wanted && wanted > READ_LENGTH) {
            self.buffer.reserve(wanted.max(READ_LENGTH));
        }
        &mut self.buffer
    }

    /// The next whole frame, or `None` until more bytes came.
    ///
    /// # Errors
    /// A violation, after which the link is of no use; or [`FrameError::PayloadTooLarge`], after which the
    /// frame's bytes are thrown
    /// away as they come and the frames behind it are read as usual.
    #[expect(clippy::should_implement_trait, reason = "an iterator that ends is not what this is")]
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            match self.state {
                State::Header => {
                    let Some(bytes) = self.buffer.first_chunk::<HEADER_LENGTH>() else { return Ok(None) };
                    let header = Header::read(bytes);
                    self.buffer.advance(HEADER_LENGTH);
                    self.begin(header)?;
                }
                State::Rest(header, kind) => return Ok(self.take(header, kind)),
                State::Skip { left } => {
                    if !self.skip(left) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Whether the stream could end here: no part of a frame is waiting for the rest.
    #[must_use]
    pub fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Header) && self.buffer.is_empty()
    }

    fn begin(&mut self, header: Header) -> Result<(), FrameError> {
        let checked = header.check(&self.limits);
        self.state = match (&checked, Kind::from_u8(header.kind)) {
            (Ok(()), Some(kind)) => State::Rest(header, kind),
            (Ok(()), None) | (Err(_), _) => State::Skip { left: header.length },
        };
        checked
    }

    fn take(&mut self, header: Header, kind: Kind) -> Option<Frame> {
        let length = usize::try_from(header.length).ok()?;
        if self.buffer.len() < length {
            return None;
        }
        self.state = State::Header;
        let body = self.buffer.split_to(header.body_length as usize).freeze();
        let payload = self.buffer.split_to(length - body.len()).freeze();
        Some(Frame { kind, flags: header.flags, seq: header.seq, body, payload })
    }

    /// Throws away what came; true when the frame is past.
    fn skip(&mut self, left: u64) -> bool {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
        self.buffer.advance(here);
        let left = left - here as u64;
        self.state = if left == 0 { State::Header } else { State::Skip { left } };
        left == 0
    }
}

/// How much more room the rest of a frame should be given now.
fn room_for(length: u64, buffered: usize) -> usize {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    length.saturating_sub(buffered).min(RESERVE_LENGTH.max(buffered))
}
