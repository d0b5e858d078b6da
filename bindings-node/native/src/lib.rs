//! The Node.js seam of Ganger: what the TypeScript of this package stands on.
//!
//! It converts and hands over; there is no policy here, no promise and no timer. Options come in and records go out as JSON text:
//! one conversion for all of them, and 64-bit numbers stay numbers. Nothing is kept in statics that belongs to one environment,
//! because worker threads of Node.js share this image.

mod bell;
mod delivery;
mod encoding;
mod event_loop;
mod fault;
mod inputs;
mod mailbox;
mod memory;
mod pool;
mod stream;
mod streaming;
mod turns;

use ganger::Language;
use napi::bindgen_prelude::ArrayBuffer;
use napi_derive::napi;

/// Says where the package's parts lie and which Node.js runs the app. Only the first call in a process counts.
#[napi(catch_unwind)]
pub fn prepare(home: String, interpreter: String) {
    ganger::set_home(home);
    ganger::set_own_interpreter(Language::Node, interpreter);
}

/// Makes a buffer's memory unreachable for JavaScript, and gives it back soon.
#[napi(catch_unwind)]
pub fn detach(buffer: ArrayBuffer<'_>) -> napi::Result<()> {
    buffer.detach()
}
