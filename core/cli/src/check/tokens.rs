//! Tokens for calls that are handed over ahead, as the host has them (SPEC 5.4).

use std::io;
use std::os::fd::BorrowedFd;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, AsRawFd};

/// A semaphore that the worker inherits.
#[derive(Debug)]
#[cfg(target_os = "linux")]
pub(super) struct Tokens(nix::sys::eventfd::EventFd);

#[cfg(target_os = "linux")]
impl Tokens {
    pub(super) fn new() -> io::Result<Self> {
        use nix::sys::eventfd::{EfdFlags, EventFd};
        let flags = EfdFlags::EFD_SEMAPHORE | EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Self(EventFd::from_value_and_flags(0, flags)?))
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub(super) fn put(&self) -> io::Result<()> {
        Ok(self.0.write(1).map(drop)?)
    }

    /// Whether there was one to take.
    pub(super) fn take(&self) -> bool {
        self.0.read().is_ok()
    }

    /// How many there are. None is taken for that: Linux tells.
    pub(super) fn left(&self) -> Option<u64> {
        let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd())).ok()?;
        let count = told.lines().find_map(|line| line.strip_prefix("eventfd-count:"))?;
        u64::from_str_radix(count.trim(), 16).ok()
    }
}

/// None elsewhere.
#[derive(Debug)]
#[cfg(not(target_os = "linux"))]
pub(super) enum Tokens {}

#[cfg(not(target_os = "linux"))]
impl Tokens {
    pub(super) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        match *self {}
    }

    pub(super) fn put(&self) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn take(&self) -> bool {
        match *self {}
    }

    pub(super) fn left(&self) -> Option<u64> {
        match *self {}
    }
}
