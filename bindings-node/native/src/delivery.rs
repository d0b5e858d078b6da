//! Outcomes of calls on their way to JavaScript. Small results go into the inbox, memory that JavaScript made once and reads in place: records of
//! four doubles, then the payloads that they point to. Large ones and errors go apart, as values of their own.

use ganger::error::{Error, ErrorCode};
use ganger::{Outcome, Reply};
use napi::bindgen_prelude::{Array, ArrayBuffer, Env};

use crate::{encoding, fault, memory};

/// Bytes of a record: ticket, encoding, and where the payload begins and ends in the inbox.
const RECORD: usize = 32;
/// Records in an inbox.
const RECORDS: usize = 128;
/// A result from this size on becomes a buffer of its own.
const LARGE: usize = 32 * 1024;
/// From this size on without a copy, where Node.js allows that. A shorter one may lie in what was read together with others, and keep that.
const VIEWED: usize = 64 * 1024;
/// From this size on a mapping of its own costs less than a copy.
const MAPPED: usize = 256 * 1024;
/// In the place of an encoding: it lies apart, or, there, it is an error.
const APART: i32 = -1;

/// A call that is over. `ticket` is the number under which JavaScript made it.
pub(crate) struct Settled {
    pub(crate) ticket: f64,
    pub(crate) outcome: Outcome,
}

/// Room of an inbox while outcomes are chosen for it.
pub(crate) struct Room {
    records: usize,
    bytes: usize,
}

impl Room {
    pub(crate) fn of(inbox: &[u8]) -> Self {
        Self { records: RECORDS, bytes: inbox.len().saturating_sub(RECORDS * RECORD) }
    }

    /// Whether this outcome fits too.
    pub(crate) fn takes(&mut self, settled: &Settled) -> bool {
        let bytes = inline(settled).map_or(0, <[u8]>::len);
        if self.records == 0 || bytes > self.bytes {
            return false;
        }
        self.records -= 1;
        self.bytes -= bytes;
        true
    }
}

/// Writes outcomes that have room into the inbox. Returns those that lie apart.
pub(crate) fn write(inbox: &mut [u8], settled: Vec<Settled>) -> Vec<Settled> {
    let mut apart = Vec::new();
    let mut end = RECORDS * RECORD;
    for (index, settled) in settled.into_iter().enumerate() {
        let begin = end;
        let kind = match (inline(&settled), &settled.outcome) {
            (Some(payload), Ok(reply)) => {
                end += payload.len();
                inbox[begin..end].copy_from_slice(payload);
                encoding::to_number(reply.encoding)
            }
            (None, _) | (_, Err(_)) => APART,
        };
        let record = [settled.ticket, f64::from(kind), begin as f64, end as f64];
        for (place, number) in inbox[index * RECORD..].chunks_exact_mut(8).zip(record) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        if kind == APART {
            apart.push(settled);
        }
    }
    apart
}

/// Three elements for each outcome: its ticket, the encoding or -1, and the payload in a buffer of its own or the error as JSON.
pub(crate) fn apart(env: &Env, outcomes: Vec<Settled>) -> napi::Result<Array<'_>> {
    let mut list = env.create_array(u32::try_from(3 * outcomes.len()).unwrap_or(u32::MAX))?;
    for (index, settled) in (0..).step_by(3).zip(outcomes) {
        list.set(index, settled.ticket)?;
        match settled.outcome {
            Ok(reply) => match (encoding::to_number(reply.encoding), buffer(env, reply)) {
                (encoding, Ok(buffer)) => {
                    list.set(index + 1, encoding)?;
                    list.set(index + 2, buffer)?;
                }
                // Longer than this Node.js allows. The other calls of the batch have their results all the same.
                (_, Err(refused)) => {
                    let message = format!("Node.js cannot hold the result: {}", refused.reason);
                    write_error(&mut list, index, &Error::new(ErrorCode::InvalidResult, message))?;
                }
            },
            Err(error) => write_error(&mut list, index, &error)?,
        }
    }
    Ok(list)
}

/// A list of broadcasts: each is its number and what `apart` describes, with places of workers as tickets.
pub(crate) fn gathered(env: &Env, broadcasts: Vec<(f64, Vec<Settled>)>) -> napi::Result<Array<'_>> {
    let mut list = env.create_array(0)?;
    for (number, outcomes) in broadcasts {
        list.insert(number)?;
        list.insert(apart(env, outcomes)?)?;
    }
    Ok(list)
}

fn inline(settled: &Settled) -> Option<&[u8]> {
    settled.outcome.as_ref().ok().map(|reply| &*reply.payload).filter(|payload| payload.len() < LARGE)
}

/// The payload as it lies, if that is worth it, so that nobody else sees what is written to it; else a copy.
fn buffer<'env>(env: &'env Env, reply: Reply) -> napi::Result<ArrayBuffer<'env>> {
    if reply.payload.len() >= VIEWED && reply.is_exclusive() {
        return memory::view(env, reply.payload);
    }
    let private = if reply.payload.len() >= MAPPED { reply.privately() } else { None };
    match private {
        Some(view) => memory::private(env, view),
        None => ArrayBuffer::copy_from(env, &reply.payload),
    }
}

fn write_error(list: &mut Array<'_>, index: u32, error: &Error) -> napi::Result<()> {
    list.set(index + 1, APART)?;
    list.set(index + 2, fault::json(error))
}
