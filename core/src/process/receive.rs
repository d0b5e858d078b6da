//! Reads a socket into memory that was not zeroed first.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use bytes::BytesMut;
use nix::libc;

/// Reads once into the spare capacity of `buffer`. 0 is the end, or no spare capacity.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut BytesMut) -> io::Result<usize> {
    let spare = buffer.spare_capacity_mut();
    // SAFETY: the pointer and the length are those of memory that is ours to write.
    let count = unsafe { libc::read(socket.as_raw_fd(), spare.as_mut_ptr().cast(), spare.len()) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the system has just written `count` bytes there, at most the spare capacity.
    unsafe { buffer.set_len(buffer.len() + count) };
    Ok(count)
}
