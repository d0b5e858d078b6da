//! Every descriptor of the host that a forked child of it must not keep: lanes, pipes, pidfds.
//!
//! A child that kept a lane would hide the host's death from its workers; one that kept a worker's end of a pipe would
//! keep its capture from ending. They stand in a fixed table of atomics, which the child's fork handler walks.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::fork::{ForkGate, ProcessTag};

/// A descriptor that stands in the table while it is open. Dropped in a forked child it does nothing: the number
/// was closed there at the fork and may belong to somebody else by now. So never take the descriptor out of it
/// (`tokio::net::UnixStream` would close it twice); [`Registered::watch`] puts it into an `AsyncFd` as it is.
#[derive(Debug)]
pub(crate) struct Registered<T> {
    value: ManuallyDrop<T>,
    entry: Option<usize>,
    tag: ProcessTag,
}

impl<T: AsRawFd + Into<OwnedFd>> Registered<T> {
    /// Enters a descriptor opened since the gate was shut.
    pub(crate) fn new(value: T, _gate: &ForkGate) -> Self {
        let entry = enter(value.as_raw_fd());
        Registered { value: ManuallyDrop::new(value), entry, tag: ProcessTag::here() }
    }

    /// Hands it to the reactor. Must be called within a runtime.
    pub(crate) fn watch(self, interest: Interest) -> io::Result<AsyncFd<Self>> {
        // SAFETY: `self` owns its descriptor (T is an owner), cannot exchange it, and closes it when dropped.
        Ok(unsafe { AsyncFd::register_with_interest(self, interest) }?)
    }
}

/// Hands a descriptor to the reactor that stays with its owner. Must be called within a runtime.
pub(crate) fn watch(descriptor: BorrowedFd<'_>, interest: Interest) -> io::Result<AsyncFd<BorrowedFd<'_>>> {
    // SAFETY: the descriptor stays open and the same for as long as it is borrowed, which is longer than it is watched.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest) }?)
}

impl<T> Drop for Registered<T> {
    fn drop(&mut self) {
        if !self.tag.is_here() {
            return;
        }
        let _gate = ForkGate::shut();
        if let Some(entry) = self.entry {
            TABLE[entry].store(FREE, Ordering::Release);
        }
        // SAFETY: dropped here and nowhere else; `self` is going away.
        unsafe { ManuallyDrop::drop(&mut self.value) };
    }
}

impl<T> Deref for Registered<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: AsRawFd> AsRawFd for Registered<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.value.as_raw_fd()
    }
}

impl<T: AsFd> AsFd for Registered<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.value.as_fd()
    }
}

/// A host's end and a child's end.
pub(crate) type Pair<H, C> = (Registered<H>, Registered<C>);

/// A connected socket pair: the host's end does not block, the child's does. Both close on exec.
pub(crate) fn socket_pair(gate: &ForkGate) -> io::Result<Pair<UnixStream, OwnedFd>> {
    let (host, child) = UnixStream::pair()?;
    host.set_nonblocking(true)?;
    let host = UnixStream::from(clear_of_low(host.into())?);
    Ok((Registered::new(host, gate), Registered::new(clear_of_low(child.into())?, gate)))
}

/// A pipe that the host reads without blocking and a child writes. Both ends close on exec.
pub(crate) fn output_pipe(gate: &ForkGate) -> io::Result<Pair<OwnedFd, OwnedFd>> {
    let (reader, writer) = io::pipe()?;
    let reader = clear_of_low(reader.into())?;
    fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok((Registered::new(reader, gate), Registered::new(clear_of_low(writer.into())?, gate)))
}

/// A copy of a descriptor for a child to inherit. It closes on exec.
pub(crate) fn duplicate(fd: impl AsFd, gate: &ForkGate) -> io::Result<Registered<OwnedFd>> {
    Ok(Registered::new(high_copy(fd)?, gate))
}

/// Closes all of them. Runs in a forked child, where only atomics and close(2) are allowed.
pub(super) fn close_all_in_child() {
    for entry in &TABLE {
        let fd = entry.swap(FREE, Ordering::AcqRel) - 1;
        if fd >= 0 {
            // SAFETY: the child's copy; whoever owned it drops it without closing (see `Registered`).
            unsafe { libc::close(fd) };
        }
    }
}

/// Moves a descriptor up: the low numbers are where a child's own are put one by one, and 0 to 2, free in a host that
/// closed them, would make some other part's prints go down a lane.
pub(crate) fn clear_of_low(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() >= LOWEST { Ok(fd) } else { high_copy(fd) }
}

fn high_copy(fd: impl AsFd) -> io::Result<OwnedFd> {
    let copy = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(LOWEST))?;
    // SAFETY: just made, and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// None if the table is full: that descriptor then stays open in forked children, nothing worse.
fn enter(fd: RawFd) -> Option<usize> {
    let start = NEXT.fetch_add(1, Ordering::Relaxed);
    (0..ENTRIES).map(|step| (start + step) % ENTRIES).find(|entry| {
        TABLE[*entry].compare_exchange(FREE, fd + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })
}

/// Above every number that a child finds a descriptor under.
pub(super) const LOWEST: RawFd = 32;
/// Five a worker: room for 1600 workers a host.
const ENTRIES: usize = 8192;
const FREE: i32 = 0;
/// The descriptor plus one, so that zero is a free entry.
static TABLE: [AtomicI32; ENTRIES] = [const { AtomicI32::new(FREE) }; ENTRIES];
static NEXT: AtomicUsize = AtomicUsize::new(0);
