//! Tokens for calls that were handed to a worker ahead of their turn. Who takes the token of a call has the call (SPEC 5.4).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The host's half of one worker's tokens.
#[derive(Clone, Debug)]
pub(crate) struct Claims(system::Tokens);

impl Claims {
    /// None where the system has nothing of the kind: nothing is handed ahead then.
    pub(crate) fn new() -> Option<Self> {
        match system::Tokens::new() {
            Ok(tokens) => Some(Self(tokens)),
            Err(error) => {
                tracing::debug!(%error, "no calls are handed ahead");
                None
            }
        }
    }

    /// For the worker to inherit.
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        self.0.descriptor()
    }

    pub(crate) fn put(&self, count: u64) -> io::Result<()> {
        self.0.put(count)
    }

    /// Takes so many at most, and says how many it got.
    pub(crate) fn take(&self, most: u64) -> u64 {
        (0..most).take_while(|_| self.0.take()).count() as u64
    }
}

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod system {
    use std::os::fd::BorrowedFd;

    use nix::sys::eventfd::{EfdFlags, EventFd};
    use nix::unistd;

    use super::{Arc, OwnedFd, io};
    use crate::process::clear_of_low;

    #[derive(Clone, Debug)]
    pub(super) struct Tokens(Arc<OwnedFd>);

    impl Tokens {
        pub(super) fn new() -> io::Result<Self> {
            let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_SEMAPHORE;
            let tokens: OwnedFd = EventFd::from_value_and_flags(0, flags)?.into();
            Ok(Self(Arc::new(clear_of_low(tokens)?)))
        }

        pub(super) fn descriptor(&self) -> Arc<OwnedFd> {
            Arc::clone(&self.0)
        }

        pub(super) fn put(&self, count: u64) -> io::Result<()> {
            unistd::write(self.fd(), &count.to_ne_bytes())?;
            Ok(())
        }

        pub(super) fn take(&self) -> bool {
            unistd::read(self.fd(), &mut [0; 8]).is_ok()
        }

        fn fd(&self) -> BorrowedFd<'_> {
            use std::os::fd::AsFd;
            self.0.as_fd()
        }
    }
}

#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
mod system {
    use super::{Arc, OwnedFd, io};

    #[derive(Clone, Debug)]
    pub(super) enum Tokens {}

    impl Tokens {
        pub(super) fn new() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn descriptor(&self) -> Arc<OwnedFd> {
            match *self {}
        }

        pub(super) fn put(&self, _count: u64) -> io::Result<()> {
            match *self {}
        }

        pub(super) fn take(&self) -> bool {
            match *self {}
        }
    }
}
