//! Closes every descriptor that nobody meant to pass on.
//!
//! Anyone in the host may open a file without close-on-exec. A worker that inherits it keeps a port taken, a pipe
//! from ending, or another worker's lane open.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;

/// Closes all descriptors from 3 on but those in `keep`, and lets those survive `exec`.
/// The error is the first descriptor in `keep` that is not open.
pub(crate) fn close_all_but(keep: &[RawFd]) -> Result<(), RawFd> {
    let mut keep: Vec<RawFd> = keep.iter().copied().filter(|fd| *fd >= FIRST).collect();
    keep.sort_unstable();
    keep.dedup();
    let mut next = FIRST;
    for &kept in &keep {
        close_range(next, kept - 1);
        next = kept + 1;
    }
    close_range(next, RawFd::MAX);
    keep.into_iter().find(|fd| !inherit(*fd)).map_or(Ok(()), Err)
}

/// Points stdout and stderr at nothing, so that whoever reads them sees an end.
pub(crate) fn silence() {
    let Ok(nothing) = File::options().write(true).open("/dev/null") else { return };
    for fd in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: dup2 touches no memory; 1 and 2 belong to no object that would notice the exchange.
        unsafe { libc::dup2(nothing.as_raw_fd(), fd) };
    }
}

fn inherit(fd: RawFd) -> bool {
    // SAFETY: the number is only passed to fcntl, which says EBADF if it is not open.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty())).is_ok()
}

fn close_range(first: RawFd, last: RawFd) {
    if first <= last && !close_range_at_once(first, last) {
        close_one_by_one(first, last);
    }
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
fn close_range_at_once(first: RawFd, last: RawFd) -> bool {
    // SAFETY: nothing in this process owns a descriptor in the range: it is about to execute another program, or is
    // the reaper, which uses stdin alone. By number, because older C libraries lack the function.
    unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, last as libc::c_uint, 0) == 0 }
}

#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
fn close_range_at_once(_first: RawFd, _last: RawFd) -> bool {
    false
}

fn close_one_by_one(first: RawFd, last: RawFd) {
    for fd in open_descriptors().into_iter().filter(|fd| (first..=last).contains(fd)) {
        // SAFETY: as above, nothing in this process owns it. One that is not open is refused with EBADF.
        unsafe { libc::close(fd) };
    }
}

/// The open descriptors as the system lists them; without such a list every number that one could have.
fn open_descriptors() -> Vec<RawFd> {
    for directory in ["/proc/self/fd", "/dev/fd"] {
        if let Ok(entries) = std::fs::read_dir(directory) {
            let names = entries.flatten().map(|entry| entry.file_name());
            return names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        }
    }
    (FIRST..UNLISTED_LAST).collect()
}

const FIRST: RawFd = 3;
const UNLISTED_LAST: RawFd = 65_536;
