//! Memory of core's that JavaScript looks at without a copy: results, and blocks that an app fills in place.
//!
//! Each is an `ArrayBuffer` over the memory, whose finalizer gives it back. Node.js takes such memory by its address, so this is the
//! one file here that needs `unsafe`. Where a runtime takes none from outside, it gets a copy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ganger::{PrivateView, Reservation};
use napi::bindgen_prelude::{ArrayBuffer, Env};

/// A payload that nobody else looks at: JavaScript may write to what it gets.
pub(crate) fn view<'env>(env: &'env Env, payload: Bytes) -> napi::Result<ArrayBuffer<'env>> {
    let (start, length) = (payload.as_ptr().cast_mut(), payload.len());
    let held = Arc::new(Mutex::new(Some(payload)));
    let hint = Arc::clone(&held);
    // SAFETY: the payload, of which this is the only handle, keeps the memory until the finalizer has run.
    let made = unsafe { ArrayBuffer::from_external(env, start, length, hint, |_, hint| drop(take(&hint))) };
    // What was refused has no finalizer.
    made.inspect_err(|_| drop(take(&held)))
}

/// A payload that others look at too: what JavaScript writes to what it gets, none of them sees.
pub(crate) fn private<'env>(env: &'env Env, view: PrivateView) -> napi::Result<ArrayBuffer<'env>> {
    let (start, length) = (view.as_mut_ptr(), view.len());
    // SAFETY: the view, of which this is the only handle, keeps the memory until the finalizer has run.
    unsafe { ArrayBuffer::from_external(env, start, length, view, |_, view| drop(view)) }
}

/// Blocks that JavaScript fills. Each has a number, because another may lie where one lay whose finalizer is still to run.
#[derive(Clone, Default)]
pub(crate) struct Blocks(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    last: i32,
    blocks: HashMap<i32, Reservation>,
}

impl Blocks {
    /// The block's number, and the block to be filled.
    pub(crate) fn lend<'env>(
        &self,
        env: &'env Env,
        mut room: Reservation,
    ) -> napi::Result<(i32, ArrayBuffer<'env>)> {
        let (start, length) = (room.as_mut_ptr(), room.len());
        let number = self.add(room);
        let blocks = self.clone();
        // SAFETY: the reservation keeps the memory, and nobody else reaches it, until it is taken from the table: by the finalizer,
        // or by a call, and then the buffer is detached before JavaScript runs again.
        let made = unsafe {
            ArrayBuffer::from_external(env, start, length, (), move |_, ()| drop(blocks.take(number)))
        };
        match made {
            Ok(buffer) => Ok((number, buffer)),
            Err(refused) => {
                drop(self.take(number));
                Err(refused)
            }
        }
    }

    /// What was filled, for a call. None: the runtime had a copy of it all along.
    pub(crate) fn take(&self, number: i32) -> Option<Reservation> {
        self.table().blocks.remove(&number)
    }

    fn add(&self, room: Reservation) -> i32 {
        let mut table = self.table();
        // Less than zero, to be told from an encoding, and than -1, which JavaScript uses. Two billion later the first are long gone.
        table.last = table.last.checked_sub(1).unwrap_or(-1).min(-2);
        let number = table.last;
        table.blocks.insert(number, room);
        number
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}
