//! One call in a session: what its function is given, and what is kept of it until it is answered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ganger_protocol::message::{Call, Credit, ErrorReport, Shape};
use ganger_protocol::{Bytes, Encoding, Reference, STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS};

use super::streams::Inputs;

/// A call to run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seq: u64,
    pub(crate) function: String,
    pub(crate) attempt: u32,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) shape: Shape,
    pub(crate) context: BTreeMap<String, String>,
    pub(crate) encoding: Encoding,
    pub(crate) payload: Bytes,
    /// Where in shared memory the payload lies, if it does.
    pub(crate) shared: Option<Reference>,
    /// Its function reads an input stream.
    pub(crate) reads: bool,
}

impl Run {
    pub(super) fn of(
        seq: u64,
        call: Call<'_>,
        encoding: Encoding,
        payload: Bytes,
        shared: Option<Reference>,
        reads: bool,
    ) -> Self {
        Self {
            seq,
            function: call.function.to_owned(),
            attempt: call.attempt,
            timeout_ms: call.timeout_ms,
            shape: call.shape,
            context: call.context.map(Cow::into_owned).unwrap_or_default(),
            encoding,
            payload,
            shared,
            reads,
        }
    }
}

/// An item of an input stream, not decoded yet.
#[derive(Debug)]
pub(crate) struct InputItem {
    /// None: one that nobody knows.
    pub(crate) encoding: Option<Encoding>,
    pub(crate) payload: Bytes,
    /// Where in shared memory the payload lies, if it does.
    pub(crate) shared: Option<Reference>,
}

impl InputItem {
    /// Bytes of the payload, wherever it lies.
    pub(crate) fn length(&self) -> u64 {
        self.shared.map_or(self.payload.len() as u64, |reference| reference.length)
    }
}

/// A call that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) cancelled: bool,
    pub(super) credit_items: i64,
    pub(super) credit_bytes: i64,
    pub(super) inputs: Inputs,
    /// The numbers of the batch that it is in.
    pub(super) batch: Option<RangeInclusive<u64>>,
    /// What it ends with whatever its function says.
    pub(super) refused: Option<Box<ErrorReport>>,
}

impl Running {
    pub(super) fn new(reads: bool, batch: Option<RangeInclusive<u64>>) -> Self {
        Self {
            cancelled: false,
            credit_items: STREAM_CREDIT_ITEMS.into(),
            credit_bytes: STREAM_CREDIT_BYTES.cast_signed(),
            inputs: if reads { Inputs::Open { owed: Credit::default() } } else { Inputs::None },
            batch,
            refused: None,
        }
    }
}
