//! The native part of the Node.js worker SDK: inputs in shared memory as buffers over where they lie, the next of the calls that were
//! handed over ahead with the answer of the last, and the control lane while JavaScript computes.
//!
//! The SDK does without it, at the price of a copy, of some microseconds a call, and of a thread of JavaScript in each worker.

mod claims;
mod mapping;
mod pages;
mod watch;

use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{ArrayBuffer, Buffer, Env, Function, FunctionRef, Int32Array, Unknown};
use napi_derive::napi;

use mapping::Mapping;
use pages::Pages;
use watch::Watch;

const TAKEN: i64 = -1;
const GONE: i64 = -2;

/// Sends the first `length` bytes and, if the kernel takes them all, takes a token: `TAKEN`, or `GONE` if there is none. Otherwise so
/// many were sent.
#[napi(catch_unwind)]
pub fn send_and_claim(lane: i32, bytes: &[u8], length: i64, tokens: i32) -> napi::Result<i64> {
    let bytes = usize::try_from(length).ok().and_then(|length| bytes.get(..length)).unwrap_or_default();
    let sent = claims::send_some(lane, bytes) as i64;
    if sent < length {
        return Ok(sent);
    }
    match claims::take(tokens) {
        Ok(taken) => Ok(if taken { TAKEN } else { GONE }),
        Err(error) => Err(napi::Error::from_reason(format!("the claims cannot be read: {error}"))),
    }
}

/// The control lane, read by a thread that JavaScript cannot hold up.
#[napi]
pub struct ControlWatch(Arc<Watch>);

#[napi]
impl ControlWatch {
    /// From now on nobody else reads `lane`. The first of `arrivals` is counted up whenever something came, and `wake` called soon after.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        lane: i32,
        arrivals: Int32Array,
        wake: Function<'_, (), Unknown<'static>>,
    ) -> napi::Result<Self> {
        Watch::start(lane, arrivals, &wake).map(Self)
    }

    /// The bytes that came since the last time.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Buffer {
        self.0.take().into()
    }
}

/// The arena that holds the inputs of calls, as a worker looks at it.
#[napi]
pub struct InputArena {
    descriptor: i32,
    pages: Option<Pages>,
    gone: Rc<FunctionRef<f64, ()>>,
}

#[napi]
impl InputArena {
    /// `gone` is told the number of each view that nobody can reach any more.
    #[napi(constructor, catch_unwind)]
    pub fn new(descriptor: i32, gone: Function<'_, f64, ()>) -> napi::Result<Self> {
        Ok(Self { descriptor, pages: Pages::new(), gone: Rc::new(gone.create_ref()?) })
    }

    /// A part of the arena without a copy, of which what is written is seen by nobody else. Null: that cannot be had.
    #[napi(catch_unwind)]
    pub fn view<'env>(
        &self,
        env: &'env Env,
        number: f64,
        offset: f64,
        length: f64,
    ) -> Option<ArrayBuffer<'env>> {
        let mapping = Mapping::new(self.descriptor, offset as u64, length as usize)?;
        let gone = Rc::clone(&self.gone);
        let tell = move |env: &Env| {
            // It fails once the environment ends: then nobody is left to be told.
            let _ = gone.borrow_back(env).and_then(|gone| gone.call(number));
        };
        mapping.lend(env, tell).ok()
    }

    /// Whether nobody has written to this part of a view, so that what lies in the arena is the same. False if it cannot be told.
    #[napi(catch_unwind)]
    pub fn is_as_sent(&self, view: ArrayBuffer<'_>, at: f64, length: f64) -> bool {
        let part = view.get(at as usize..at as usize + length as usize);
        match (&self.pages, part) {
            (Some(pages), Some(part)) => pages.are_the_files(part.as_ptr_range()),
            (None, _) | (_, None) => false,
        }
    }
}
