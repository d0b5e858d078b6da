//! A part of an arena, mapped by itself: pages that are written are copied, and go with the mapping. So the next input that lies
//! there can not be hidden by what was written to this one, and a limit on memory counts no more than what is mapped.
//!
//! Node.js takes such memory by its address, so this is the one file here that needs `unsafe`.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use napi::bindgen_prelude::{ArrayBuffer, Env};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use crate::pages;

pub(crate) struct Mapping {
    start: NonNull<c_void>,
    size: NonZeroUsize,
    /// Where what was asked for begins: mappings begin with a page.
    lead: usize,
}

impl Mapping {
    /// None: the system says no, or there is nothing to be mapped.
    pub(crate) fn new(descriptor: i32, offset: u64, length: usize) -> Option<Self> {
        if descriptor < 0 {
            return None;
        }
        let lead = usize::try_from(offset % pages::size() as u64).ok()?;
        let size = NonZeroUsize::new(length)?.checked_add(lead)?;
        let begin = i64::try_from(offset - lead as u64).ok()?;
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: a descriptor that the host passed on for good; if it is none, mapping fails. The mapping is a new one at an address
        // of the system's choice, of a file that does not shrink, so its pages are there for as long as it is.
        let start =
            unsafe { mmap(None, size, rights, flags, BorrowedFd::borrow_raw(descriptor), begin) }.ok()?;
        Some(Self { start, size, lead })
    }

    /// As a buffer of JavaScript's, which is unmapped when it is collected; then `gone` is called on its thread. Not called if
    /// there is no buffer.
    pub(crate) fn lend<'env>(
        self,
        env: &'env Env,
        gone: impl FnOnce(&Env) + 'static,
    ) -> napi::Result<ArrayBuffer<'env>> {
        let length = self.size.get() - self.lead;
        let start = self.start.as_ptr().cast::<u8>().wrapping_add(self.lead);
        // SAFETY: within the mapping, which is the finalizer's and nobody else's; nobody has the file's bytes change while
        // the call's block is lent, which is until `gone` was called.
        unsafe {
            ArrayBuffer::from_external(env, start, length, self, move |env, mapping| {
                drop(mapping);
                gone(&env);
            })
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping, which nobody can reach any more. It cannot fail: the range is what was mapped.
        let _ = unsafe { munmap(self.start, self.size.get()) };
    }
}
