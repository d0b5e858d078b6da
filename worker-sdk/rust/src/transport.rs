//! The two lanes: where they come from, reading frames and writing them.

mod claims;
mod descriptors;

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use ganger_protocol::message::Attach;
use ganger_protocol::{Decoder, Frame, FrameError, Limits};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::worker::attach_with;

pub(crate) use claims::ClaimsFile;

/// The lanes of a worker, before anything was said on them.
pub(crate) struct Lanes {
    pub(crate) data: UnixStream,
    pub(crate) control: UnixStream,
    /// What to say first, on a named endpoint.
    pub(crate) attach: Option<Attach>,
}

/// Why there are no lanes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(
        "this is a Ganger worker: a pool starts it, or GANGER_ENDPOINT and GANGER_TOKEN name a pool to join"
    )]
    NotStartedByAPool,
    #[error("{variable} is {value:?}, which is no descriptor")]
    NotADescriptor { variable: &'static str, value: String },
    #[error("{variable} names a descriptor that cannot be used: {source}")]
    Descriptor { variable: &'static str, source: io::Error },
    #[error("cannot join the pool at {endpoint}: {source}")]
    Endpoint { endpoint: String, source: io::Error },
}

/// Finds the lanes (SPEC chapter 1). Afterwards the environment does not name them any more.
pub(crate) fn connect() -> Result<Lanes, ConnectError> {
    let inherited = |variable| descriptors::take_variable(variable).map(|value| (variable, value));
    let (data, control) = (inherited("GANGER_DATA_FD"), inherited("GANGER_CONTROL_FD"));
    let (endpoint, token) = (inherited("GANGER_ENDPOINT"), inherited("GANGER_TOKEN"));
    if let (Some(data), Some(control)) = (data, control) {
        return Ok(Lanes { data: inherit(data)?, control: inherit(control)?, attach: None });
    }
    let Some((_, endpoint)) = endpoint else { return Err(ConnectError::NotStartedByAPool) };
    let join = || UnixStream::connect(&endpoint);
    let (control, data) = join()
        .and_then(|control| Ok((control, join()?)))
        .map_err(|source| ConnectError::Endpoint { endpoint: endpoint.clone(), source })?;
    let token = token.map(|(_, value)| value).unwrap_or_default();
    Ok(Lanes { data, control, attach: Some(attach_with(token)) })
}

fn inherit((variable, value): (&'static str, String)) -> Result<UnixStream, ConnectError> {
    let Ok(number) = value.parse() else { return Err(ConnectError::NotADescriptor { variable, value }) };
    let owned: OwnedFd =
        descriptors::take(number).map_err(|source| ConnectError::Descriptor { variable, source })?;
    let stream = UnixStream::from(owned);
    stream.set_nonblocking(false).map_err(|source| ConnectError::Descriptor { variable, source })?;
    Ok(stream)
}

/// Takes over a descriptor that this process inherited; this worker's children do not have it.
pub(crate) fn inherited(number: u32) -> io::Result<OwnedFd> {
    descriptors::take(i32::try_from(number).map_err(|_| io::ErrorKind::InvalidInput)?)
}

/// What a lane brought.
pub(crate) enum Arrival {
    Frame(Frame),
    Refused(FrameError),
    /// End of file, or an error that is as good as one (R1).
    End,
}

/// Reads frames from a lane.
pub(crate) struct LaneReader {
    stream: UnixStream,
    decoder: Decoder,
    /// How much the next read asks for: it follows what reads bring, because room is zeroed before it is read
    /// into.
    read_length: usize,
}

const LEAST_READ: usize = 4 * 1024;
const MOST_READ: usize = 256 * 1024;

impl LaneReader {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, decoder: Decoder::new(Limits::default()), read_length: LEAST_READ }
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.decoder.set_limits(limits);
    }

    /// Waits for the next frame.
    pub(crate) fn next(&mut self) -> Arrival {
        loop {
            match self.decoder.next() {
                Ok(Some(frame)) => return Arrival::Frame(frame),
                Ok(None) => {}
                Err(error) => return Arrival::Refused(error),
            }
            match self.read() {
                Ok(0) => return Arrival::End,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Arrival::End,
            }
        }
    }

    /// Waits for the next frame of this lane, and for the end of another.
    pub(crate) fn next_or_end_of(&mut self, other: &UnixStream) -> Arrival {
        match self.decoder.next() {
            Ok(Some(frame)) => return Arrival::Frame(frame),
            Ok(None) => {}
            Err(error) => return Arrival::Refused(error),
        }
        if wait(&self.stream, other) == Ok(true) { self.next() } else { Arrival::End }
    }

    fn read(&mut self) -> io::Result<usize> {
        let buffer = self.decoder.buffer();
        let start = buffer.len();
        let room = (buffer.capacity() - start).min(self.read_length).max(1);
        buffer.resize(start + room, 0);
        let outcome = (&self.stream).read(&mut buffer[start..]);
        let count = *outcome.as_ref().unwrap_or(&0);
        buffer.truncate(start + count);
        self.read_length = if count == room {
            (room * 4).clamp(LEAST_READ, MOST_READ)
        } else {
            count.clamp(LEAST_READ, MOST_READ)
        };
        outcome
    }
}

/// Waits until a lane has something; false when the other one has ended.
fn wait(stream: &UnixStream, other: &UnixStream) -> nix::Result<bool> {
    loop {
        let mut watched =
            [PollFd::new(stream.as_fd(), PollFlags::POLLIN), PollFd::new(other.as_fd(), PollFlags::empty())];
        match poll(&mut watched, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        if watched[1].any() == Some(true) {
            return Ok(false);
        }
        if watched[0].any() == Some(true) {
            return Ok(true);
        }
    }
}

/// Writes frames to a lane.
pub(crate) struct LaneWriter {
    stream: UnixStream,
    joined: Vec<u8>,
}

/// Payloads up to here are copied behind their header, so that a batch of frames is one write.
const JOIN_LENGTH: usize = 64 * 1024;

impl LaneWriter {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream, joined: Vec::new() }
    }

    pub(crate) fn write(&mut self, frames: &[Frame]) -> io::Result<()> {
        self.joined.clear();
        for frame in frames {
            frame.head_into(&mut self.joined);
            if frame.payload.len() <= JOIN_LENGTH {
                self.joined.extend_from_slice(&frame.payload);
            } else {
                write_both(&mut self.stream, &self.joined, &frame.payload)?;
                self.joined.clear();
            }
            if self.joined.len() > 4 * JOIN_LENGTH {
                self.stream.write_all(&self.joined)?;
                self.joined.clear();
            }
        }
        self.stream.write_all(&self.joined)
    }
}

fn write_both(stream: &mut UnixStream, head: &[u8], payload: &[u8]) -> io::Result<()> {
    let mut slices = &mut [IoSlice::new(head), IoSlice::new(payload)][..];
    while !slices.is_empty() {
        match stream.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut slices, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
