//! One connected stream of bytes that never blocks.

use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::Interest;

use crate::process::fork::ForkGate;
use crate::process::{Registered, duplicate, receive};

/// Reads and writes go to the system on the thread that asks.
#[derive(Debug)]
pub(crate) struct Socket(Registered<UnixStream>);

impl Socket {
    /// Takes a non-blocking stream.
    pub(crate) fn new(stream: Registered<UnixStream>) -> Self {
        Self(stream)
    }

    pub(super) fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        receive(self.0.as_fd(), buffer)
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    pub(super) fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.0).write_vectored(slices)
    }

    /// Waits for room, in the runtime. Nobody watches for it the rest of the time: whoever does is woken by every frame that the other
    /// side reads.
    pub(super) async fn writable(&self) -> io::Result<()> {
        // A second descriptor, for the first may be watched for reading already.
        let copy = {
            let gate = ForkGate::shut();
            duplicate(&*self.0, &gate)
        };
        match copy.and_then(|copy| copy.watch(Interest::WRITABLE)) {
            Ok(watched) => watched.writable().await.map(drop),
            Err(_) => {
                // No descriptors left: look again soon.
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(())
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
