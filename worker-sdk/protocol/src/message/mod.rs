//! The bodies of frames: one type a kind, each with `encode` and `decode`.
//!
//! An empty body is all defaults, a list may be shorter or longer than known, unknown keys of a map are
//! ignored, bytes after the one value and more than 64 levels are refused (R5).

mod call;
mod cancel;
mod contract;
mod credit;
mod error;
mod handshake;
mod log;
mod progress;
mod release;
mod stop;

pub use call::{Call, InBatch, Shape};
pub use cancel::{Cancel, CancelReason};
pub use contract::{Batch, Contract, Exclusive, FunctionKind, Ready};
pub use credit::Credit;
pub use error::{ErrorReport, MAX_CAUSES, MAX_MESSAGE_LENGTH, MAX_TRACEBACK_LENGTH, code};
pub use handshake::{Attach, Hello, SharedMemory, Welcome};
pub use log::{Level, Log};
pub use progress::Progress;
pub use release::Release;
pub use stop::Stop;

use crate::reader::{Outcome, Reader};

/// Reads a body that is a map into its defaults, one call of `entry` a key.
fn read_map<'a, T: Default>(
    body: &'a [u8],
    mut entry: impl FnMut(&mut T, &mut Reader<'a>, &str) -> Outcome<()>,
) -> Outcome<T> {
    let mut message = T::default();
    if !body.is_empty() {
        let mut reader = Reader::new(body);
        reader.map(|reader, key| entry(&mut message, reader, key))?;
        reader.finish()?;
    }
    Ok(message)
}

/// Runs one writer over a fresh buffer.
fn encoded(write: impl FnOnce(&mut crate::writer::Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut crate::writer::Writer(&mut bytes));
    bytes
}
