//! The answer of one call on its way, and the token of the next (SPEC 5.4).

use std::os::fd::{BorrowedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use nix::unistd::read;

/// How many bytes the socket takes now. If it is broken, whoever writes the rest will see.
pub(crate) fn send_some(lane: RawFd, bytes: &[u8]) -> usize {
    let mut sent = 0;
    while sent < bytes.len() {
        match send(lane, &bytes[sent..], MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT) {
            Ok(count) => sent += count,
            Err(Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    sent
}

/// False: there is no token, the call was taken back.
pub(crate) fn take(tokens: RawFd) -> nix::Result<bool> {
    if tokens < 0 {
        return Err(Errno::EBADF);
    }
    // SAFETY: it is no -1, and the host passed it on for as long as this process lives.
    let tokens = unsafe { BorrowedFd::borrow_raw(tokens) };
    loop {
        match read(tokens, &mut [0; 8]) {
            Ok(_) => return Ok(true),
            Err(Errno::EAGAIN) => return Ok(false),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}
