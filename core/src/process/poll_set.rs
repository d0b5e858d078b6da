//! Descriptors that one thread waits for at once. A set may lie in another one, or in a runtime's reactor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::unistd;

use super::descriptors::{Registered, clear_of_low};
use super::fork::ForkGate;

#[derive(Debug)]
pub(crate) struct PollSet(Registered<Owner>);

#[derive(Debug)]
struct Owner(Epoll);

/// What was found ready, by number. Kept and filled anew.
#[derive(Debug)]
pub(crate) struct Ready(Vec<EpollEvent>);

impl PollSet {
    pub(crate) fn new() -> io::Result<Self> {
        let gate = ForkGate::shut();
        let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Self(Registered::new(Owner(Epoll(clear_of_low(set.0)?)), &gate)))
    }

    /// Has the set watch a descriptor, under a number.
    pub(crate) fn add(&self, descriptor: impl AsFd, number: u64) -> io::Result<()> {
        Ok(self.set().add(descriptor, EpollEvent::new(EpollFlags::EPOLLIN, number))?)
    }

    /// Has the set no longer hear of a descriptor, or hear of it again.
    pub(crate) fn heed(&self, descriptor: impl AsFd, number: u64, heed: bool) -> io::Result<()> {
        let flags = if heed { EpollFlags::EPOLLIN } else { EpollFlags::empty() };
        Ok(self.set().modify(descriptor, &mut EpollEvent::new(flags, number))?)
    }

    pub(crate) fn remove(&self, descriptor: impl AsFd) {
        // It can only fail for a descriptor that is not there.
        let _ = self.set().delete(descriptor);
    }

    /// Waits until one is ready, at most so long (to the next millisecond), or until a signal comes, which is an error.
    pub(crate) fn wait(&self, ready: &mut Ready, limit: Duration) -> io::Result<usize> {
        let limit = EpollTimeout::try_from(limit.as_micros().div_ceil(1000)).unwrap_or(EpollTimeout::MAX);
        Ok(self.set().wait(&mut ready.0, limit)?)
    }

    fn set(&self) -> &Epoll {
        &self.0.0
    }
}

impl Default for Ready {
    fn default() -> Self {
        Self(vec![EpollEvent::empty(); AT_ONCE])
    }
}

impl Ready {
    /// Whether more may be ready than were found.
    pub(crate) fn is_full(&self, count: usize) -> bool {
        count == self.0.len()
    }

    pub(crate) fn number(&self, index: usize) -> u64 {
        self.0[index].data()
    }
}

/// More are found at the next look.
const AT_ONCE: usize = 32;

impl AsFd for PollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.0.as_fd()
    }
}

impl AsRawFd for Owner {
    fn as_raw_fd(&self) -> RawFd {
        self.0.0.as_raw_fd()
    }
}

impl From<Owner> for OwnedFd {
    fn from(owner: Owner) -> Self {
        owner.0.0
    }
}

/// A descriptor that is readable from when it is rung to when it is stilled.
#[derive(Debug)]
pub(crate) struct Bell(Registered<OwnedFd>);

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let gate = ForkGate::shut();
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self(Registered::new(clear_of_low(bell.into())?, &gate)))
    }

    pub(crate) fn ring(&self) {
        // It fails when it has been rung too often to count, and then it is ringing.
        let _ = unistd::write(&*self.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn still(&self) {
        let _ = unistd::read(&*self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
