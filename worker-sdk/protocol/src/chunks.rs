//! Long payloads in pieces: cutting them, and putting them together again (SPEC 2.2).

use std::collections::BTreeMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::{Flags, Frame, FrameError, Kind, Limits};

/// How many chunked payloads may be under way on one link; far above any concurrency, and a bound for a peer
/// that lies.
const MAX_UNDER_WAY: usize = 4096;

/// The most memory reserved on the word of a total alone.
const RESERVE_LENGTH: u64 = 64 * 1024 * 1024;

/// Bytes of the total before the first piece.
const TOTAL_LENGTH: usize = 8;

/// Cuts a frame into one with MORE and CHUNK frames, each with at most `chunk_bytes` of payload. A payload
/// that fits stays whole.
///
/// The pieces are slices of the payload; only the first is copied, because the total goes before it.
pub fn split_into_chunks(frame: Frame, chunk_bytes: usize) -> impl Iterator<Item = Frame> {
    let chunk_bytes = chunk_bytes.max(TOTAL_LENGTH + 1);
    let (first, rest) = if frame.payload.len() <= chunk_bytes {
        (frame, Bytes::new())
    } else {
        first_piece(frame, chunk_bytes)
    };
    let seq = first.seq;
    let count = rest.len().div_ceil(chunk_bytes);
    let pieces = (0..count).map(move |index| {
        let start = index * chunk_bytes;
        let end = rest.len().min(start + chunk_bytes);
        let flags = if index + 1 < count { Flags::MORE } else { Flags::NONE };
        Frame { kind: Kind::Chunk, flags, seq, body: Bytes::new(), payload: rest.slice(start..end) }
    });
    std::iter::once(first).chain(pieces)
}

/// Puts chunked payloads together. Frames that are whole pass through untouched.
#[derive(Debug)]
pub struct Assembler {
    limits: Limits,
    under_way: BTreeMap<u64, Partial>,
    /// The highest seq that ever began or was abandoned: chunks up to here without a payload under way are
    /// leftovers.
    highest: u64,
}

#[derive(Debug)]
struct Partial {
    first: Frame,
    total: u64,
    pieces: BytesMut,
}

impl Assembler {
    /// An assembler with nothing under way.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, under_way: BTreeMap::new(), highest: 0 }
    }

    /// Other limits from the next payload on.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Takes a frame as it came; gives the whole frame when there is one.
    ///
    /// # Errors
    /// A violation of R9 or R10; or [`FrameError::PayloadTooLarge`] for a total beyond the limit: its chunks
    /// are then ignored as they come.
    pub fn accept(&mut self, frame: Frame) -> Result<Option<Frame>, FrameError> {
        match (frame.kind, frame.flags.contains(Flags::MORE)) {
            (Kind::Chunk, more) => self.go_on(frame.seq, &frame.payload, more),
            (_, true) => self.begin(frame).map(|()| None),
            (_, false) => Ok(Some(frame)),
        }
    }

    /// Forgets what came for a seq; chunks of it that still come are ignored (R10). True if something was
    /// under way.
    ///
    /// Call it also for an oversize frame that a [`Decoder`](crate::Decoder) refused.
    pub fn abandon(&mut self, seq: u64) -> bool {
        self.highest = self.highest.max(seq);
        self.under_way.remove(&seq).is_some()
    }

    /// Like [`abandon`](Self::abandon), but leaves a seq alone that has nothing under way.
    pub fn abandon_if_under_way(&mut self, seq: u64) -> bool {
        self.is_under_way(seq) && self.abandon(seq)
    }

    /// Whether a chunked payload of this seq is under way.
    #[must_use]
    pub fn is_under_way(&self, seq: u64) -> bool {
        self.under_way.contains_key(&seq)
    }

    /// Whether no chunked payload is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Bytes held for payloads that are not whole yet.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.under_way.values().map(|partial| partial.pieces.len()).sum()
    }

    fn begin(&mut self, mut frame: Frame) -> Result<(), FrameError> {
        let seq = frame.seq;
        if frame.payload.len() < TOTAL_LENGTH {
            return Err(FrameError::ChunkTotalMissing { seq });
        }
        if self.under_way.contains_key(&seq) {
            return Err(FrameError::ChunksOverlap { seq });
        }
        if self.under_way.len() >= MAX_UNDER_WAY {
            return Err(FrameError::TooManyChunked { limit: MAX_UNDER_WAY });
        }
        self.highest = self.highest.max(seq);
        let total = frame.payload.get_u64_le();
        let received = frame.payload.len() as u64;
        if received > total {
            return Err(FrameError::ChunkSumWrong { seq, total, received });
        }
        if total > self.limits.max_payload {
            let limit = self.limits.max_payload;
            return Err(FrameError::PayloadTooLarge { seq, kind: frame.kind, length: total, limit });
        }
        let reserve = usize::try_from(total.min(RESERVE_LENGTH)).expect("64 MiB fits");
        let mut pieces = BytesMut::with_capacity(reserve);
        pieces.put(std::mem::take(&mut frame.payload));
        self.under_way.insert(seq, Partial { first: frame, total, pieces });
        Ok(())
    }

    fn go_on(&mut self, seq: u64, piece: &Bytes, more: bool) -> Result<Option<Frame>, FrameError> {
        let Some(partial) = self.under_way.get_mut(&seq) else {
            return if seq <= self.highest { Ok(None) } else { Err(FrameError::ChunkWithoutStart { seq }) };
        };
        let total = partial.total;
        let received = partial.pieces.len() as u64 + piece.len() as u64;
        if received > total || (!more && received < total) {
            return Err(FrameError::ChunkSumWrong { seq, total, received });
        }
        partial.pieces.extend_from_slice(piece);
        if more {
            return Ok(None);
        }
        Ok(self.under_way.remove(&seq).map(Partial::into_frame))
    }
}

impl Partial {
    fn into_frame(self) -> Frame {
        let flags = self.first.flags.without(Flags::MORE);
        Frame { flags, payload: self.pieces.freeze(), ..self.first }
    }
}

fn first_piece(frame: Frame, chunk_bytes: usize) -> (Frame, Bytes) {
    let mut payload = frame.payload.clone();
    let piece = payload.split_to(chunk_bytes - TOTAL_LENGTH);
    let mut joined = BytesMut::with_capacity(chunk_bytes);
    joined.put_u64_le(frame.payload.len() as u64);
    joined.put(piece);
    let flags = frame.flags.with(Flags::MORE);
    (Frame { flags, payload: joined.freeze(), ..frame }, payload)
}
