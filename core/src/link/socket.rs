//! One connected stream of bytes that never blocks.

use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::process::{Registered, receive};

/// Reads and writes go to the system on the thread that asks; only waiting goes through the reactor.
#[derive(Debug)]
pub(crate) struct Socket(AsyncFd<Registered<UnixStream>>);

impl Socket {
    /// Takes a non-blocking stream. Must be called within the runtime.
    pub(crate) fn new(stream: Registered<UnixStream>) -> io::Result<Self> {
        stream.watch(Interest::READABLE | Interest::WRITABLE).map(Self)
    }

    pub(super) fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.0.try_io(Interest::READABLE, |stream| receive(stream.as_fd(), buffer))
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_io(Interest::WRITABLE, |stream| (&**stream).write(bytes))
    }

    pub(super) fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_io(Interest::WRITABLE, |stream| (&**stream).write_vectored(slices))
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.0.readable().await.map(|mut ready| ready.retain_ready())
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.0.writable().await.map(|mut ready| ready.retain_ready())
    }
}
