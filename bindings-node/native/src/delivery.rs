//! Outcomes of calls on their way to JavaScript, all that are there in one list: small results lie together in one buffer.

use ganger::error::{Error, ErrorCode};
use napi::bindgen_prelude::{Array, BufferSlice, Env, Null};

use crate::mailbox::Settled;
use crate::{encoding, fault};

/// A result from this size on becomes a buffer of its own, without a copy where Node.js allows that.
const LARGE: usize = 64 * 1024;
/// In the place of an encoding: the call failed.
const FAILED: i32 = -1;
/// The list that `takeSettled` describes.
pub(crate) fn list(env: &Env, settled: Vec<Settled>, news: bool) -> napi::Result<Array<'_>> {
    let length = u32::try_from(2 + 4 * settled.len()).unwrap_or(u32::MAX);
    let mut list = env.create_array(length)?;
    let mut small = Vec::new();
    for (index, settled) in (2..).step_by(4).zip(settled) {
        write(env, &mut list, index, settled, &mut small)?;
    }
    if small.is_empty() {
        list.set(0, Null)?;
    } else {
        list.set(0, BufferSlice::copy_from(env, &small)?)?;
    }
    list.set(1, news)?;
    Ok(list)
}

/// Writes four elements.
fn write(
    env: &Env,
    list: &mut Array<'_>,
    index: u32,
    settled: Settled,
    small: &mut Vec<u8>,
) -> napi::Result<()> {
    list.set(index, settled.ticket)?;
    match settled.outcome {
        Ok((encoding, payload)) if payload.len() < LARGE => {
            list.set(index + 1, encoding::to_number(encoding))?;
            list.set(index + 2, small.len() as f64)?;
            small.extend_from_slice(&payload);
            list.set(index + 3, small.len() as f64)
        }
        Ok((encoding, payload)) => match BufferSlice::from_data(env, payload) {
            Ok(buffer) => {
                list.set(index + 1, encoding::to_number(encoding))?;
                list.set(index + 2, buffer)?;
                list.set(index + 3, Null)
            }
            // Longer than this Node.js allows. The other calls of the batch have their results all the same.
            Err(refused) => {
                let message = format!("Node.js cannot hold the result: {}", refused.reason);
                write_error(list, index, &Error::new(ErrorCode::InvalidResult, message))
            }
        },
        Err(error) => write_error(list, index, &error),
    }
}

fn write_error(list: &mut Array<'_>, index: u32, error: &Error) -> napi::Result<()> {
    list.set(index + 1, FAILED)?;
    list.set(index + 2, fault::json(error))?;
    list.set(index + 3, Null)
}
