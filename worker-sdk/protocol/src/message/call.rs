//! CALL: which function to run, how long it may take, and the trace it belongs to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::BodyError;
use crate::reader::{Outcome, Reader};
use crate::writer::Writer;

/// How the payload of a call holds its input (R18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// One value, the input.
    #[default]
    Value = 0,
    /// A list of two: positional arguments and named arguments.
    Arguments = 1,
}

/// Which batch a call belongs to (R57). The calls of one batch have numbers that follow one another without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InBatch {
    /// The number of its first call.
    pub first: u64,
    /// How many calls it has.
    pub count: u32,
}

/// The body of a CALL frame. It borrows from the frame, or from the options it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The function's name.
    pub function: &'a str,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// The time this attempt has, if it has a limit (R21).
    pub timeout_ms: Option<u64>,
    /// How the payload holds the input.
    pub shape: Shape,
    /// Trace context and the app's own strings (R22).
    pub context: Option<Cow<'a, BTreeMap<String, String>>>,
    /// The batch it is a part of, if it is.
    pub batch: Option<InBatch>,
}

impl<'a> Call<'a> {
    /// A first attempt at a function, without limit or context.
    #[must_use]
    pub const fn new(function: &'a str) -> Self {
        Self { function, attempt: 1, timeout_ms: None, shape: Shape::Value, context: None, batch: None }
    }

    /// The body in a buffer of its own.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut buffer = Vec::with_capacity(self.function.len() + 24);
        self.encode_into(&mut buffer);
        buffer
    }

    /// Appends the body to a buffer that the caller reuses: no allocation beyond its growth. Trailing
    /// defaults are left out.
    pub fn encode_into(&self, buffer: &mut Vec<u8>) {
        let mut writer = Writer(buffer);
        let fields = self.field_count();
        writer.list(fields);
        writer.str(self.function);
        if fields > 1 {
            writer.unsigned(self.attempt.into());
        }
        if fields > 2 {
            writer.nullable(self.timeout_ms, Writer::unsigned);
        }
        if fields > 3 {
            writer.unsigned(self.shape as u64);
        }
        if fields > 4 {
            writer.nullable(self.context.as_deref(), write_context);
        }
        if let Some(InBatch { first, count }) = self.batch {
            writer.list(2);
            writer.unsigned(first);
            writer.unsigned(count.into());
        }
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A malformed body.
    pub fn decode(body: &'a [u8]) -> Result<Self, BodyError> {
        let mut call = Self::new("");
        if body.is_empty() {
            return Ok(call);
        }
        let mut reader = Reader::new(body);
        let mut fields = reader.begin_fields()?;
        call.function = reader.field(&mut fields, Reader::str)?.unwrap_or_default();
        call.attempt = reader.field(&mut fields, |reader| reader.unsigned("attempt"))?.unwrap_or(1);
        let timeout = |reader: &mut Reader<'a>| reader.nullable(|reader| reader.unsigned("timeout_ms"));
        call.timeout_ms = reader.field(&mut fields, timeout)?.flatten();
        call.shape = reader.field(&mut fields, read_shape)?.unwrap_or_default();
        let context = reader.field(&mut fields, |reader| reader.nullable(read_context))?.flatten();
        call.context = context.map(Cow::Owned);
        call.batch = reader.field(&mut fields, |reader| reader.nullable(read_batch))?.flatten();
        reader.end_fields(fields)?;
        reader.finish()?;
        Ok(call)
    }

    const fn field_count(&self) -> usize {
        match self {
            Self { batch: Some(_), .. } => 6,
            Self { context: Some(_), .. } => 5,
            Self { shape: Shape::Arguments, .. } => 4,
            Self { timeout_ms: Some(_), .. } => 3,
            Self { attempt: 1, .. } => 1,
            Self { .. } => 2,
        }
    }
}

fn read_shape(reader: &mut Reader<'_>) -> Outcome<Shape> {
    match reader.integer()? {
        0 => Ok(Shape::Value),
        1 => Ok(Shape::Arguments),
        _ => Err(BodyError::OutOfRange { what: "shape" }),
    }
}

fn write_context(writer: &mut Writer<'_>, context: &BTreeMap<String, String>) {
    writer.map(context.len());
    for (key, value) in context {
        writer.str(key);
        writer.str(value);
    }
}

fn read_batch(reader: &mut Reader<'_>) -> Outcome<InBatch> {
    let mut fields = reader.begin_fields()?;
    let first = reader.field(&mut fields, |reader| reader.unsigned("first"))?.unwrap_or_default();
    let count = reader.field(&mut fields, |reader| reader.unsigned("count"))?.unwrap_or_default();
    reader.end_fields(fields)?;
    Ok(InBatch { first, count })
}

fn read_context(reader: &mut Reader<'_>) -> Outcome<BTreeMap<String, String>> {
    let mut context = BTreeMap::new();
    reader.map(|reader, key| {
        context.insert(key.to_owned(), reader.string()?);
        Ok(())
    })?;
    Ok(context)
}
