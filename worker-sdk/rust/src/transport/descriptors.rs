//! The one file with `unsafe`: takes the lanes that the environment names, and takes their names out of the
//! environment.

#![expect(unsafe_code, reason = "descriptors come as bare numbers, and the environment is global")]

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Takes a descriptor that this process inherited; the copy it gives is closed when a child execs (1.1).
pub(super) fn take(number: RawFd) -> io::Result<OwnedFd> {
    if number <= 2 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "descriptors 0 to 2 are not for lanes"));
    }
    // SAFETY: the number is not -1, and the borrow does not outlive this statement. If it is not open, the
    // call fails with EBADF.
    let copy = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned()?;
    // SAFETY: it is open, as the copy shows, and the variable that named it said that it is this worker's to
    // own.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    Ok(copy)
}

/// Takes a variable out of the environment, so that this worker's children do not see it.
pub(super) fn take_variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    // SAFETY: `Worker::run` is the first thing a worker does, before it starts any thread; its documentation
    // asks for that.
    unsafe { std::env::remove_var(name) };
    Some(value)
}
