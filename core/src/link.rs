//! The two lanes to one worker.

mod inbox;
mod outbox;
mod reader;
mod socket;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ganger_protocol::message::Release;
use ganger_protocol::{Frame, FrameError, Kind, Lane, Limits};
use tokio::task::JoinHandle;

pub(crate) use inbox::Turn;
use outbox::Outbox;
use reader::Reader;
use socket::Socket;

use crate::process::{Claims, Registered};
use crate::reactor::{Reactor, Registration, attend};

/// So many returned blocks, or bytes in them, are worth a frame of their own.
const MANY_RETURNS: usize = 16;
const MANY_BYTES: u64 = 64 * 1024 * 1024;

/// What a reader has to say. News of one lane comes in order.
pub(crate) trait Listener: Send + Sync + 'static {
    /// Frames that became whole in one turn.
    fn frames(&self, lane: Lane, frames: Vec<Frame>);
    /// One call's answer was too large; the lane goes on.
    fn too_large(&self, kind: Kind, seq: u64, length: u64, limit: u64);
    /// The worker broke the protocol. The last news of this lane.
    fn violated(&self, error: FrameError);
}

/// The host's ends of both lanes.
#[derive(Debug)]
pub(crate) struct Link {
    data: LaneEnd,
    control: LaneEnd,
    returns: Mutex<Returns>,
}

/// Blocks of shared memory that the worker has not heard yet are free. They wait for the next call, which costs nothing.
#[derive(Debug, Default)]
struct Returns {
    offsets: Vec<u64>,
    bytes: u64,
}

#[derive(Debug)]
struct LaneEnd {
    socket: Socket,
    outbox: Outbox,
    /// The worker ended without having read all that was written to it.
    left_unread: AtomicBool,
}

impl Link {
    /// Takes two connected, non-blocking sockets. `concurrency` is the worker's: one that runs several calls gets long payloads
    /// in pieces. `claims`: its tokens for calls that are handed ahead.
    pub(crate) fn new(
        data: Registered<UnixStream>,
        control: Registered<UnixStream>,
        concurrency: u32,
        claims: Option<Claims>,
    ) -> Arc<Self> {
        let end = |stream, chunked, claims| LaneEnd {
            socket: Socket::new(stream),
            outbox: Outbox::new(chunked, claims),
            left_unread: AtomicBool::new(false),
        };
        let (data, control) = (end(data, concurrency > 1, claims), end(control, false, None));
        Arc::new(Self { data, control, returns: Mutex::default() })
    }

    /// Starts reading and, when callers cannot, writing: the data lane as the reactor has it read, the rest in tasks. Must be called
    /// within the runtime.
    pub(crate) fn serve(
        self: &Arc<Self>,
        limits: Limits,
        listener: &Arc<dyn Listener>,
        reactor: &Arc<Reactor>,
    ) -> io::Result<Tasks> {
        let reader = |lane| Arc::new(Reader::new(Arc::clone(self), lane, limits, Arc::clone(listener)));
        let write = |lane| {
            let link = Arc::clone(self);
            tokio::spawn(async move { link.end(lane).outbox.serve(&link.end(lane).socket).await })
        };
        let (data, control) = (reader(Lane::Data), reader(Lane::Control));
        let registration = reactor.add(Arc::clone(&data) as _)?;
        Ok(Tasks {
            control: tokio::spawn(attend(control)),
            writers: [Lane::Data, Lane::Control].map(write),
            data,
            _registration: registration,
        })
    }

    /// Puts a frame in line. Called under the pool's lock, which fixes the order.
    pub(crate) fn push(&self, lane: Lane, frame: Frame) {
        if frame.kind == Kind::Call {
            self.push_returns();
        }
        self.end(lane).outbox.push(frame);
    }

    /// Puts a call of a batch in line: the last one that comes sets the batch going, so that none may arrive after it.
    pub(crate) fn push_in_batch(&self, frame: Frame) {
        self.push_returns();
        self.data.outbox.push_whole(frame);
    }

    /// Tells the worker, soon, that a block of its arena is free.
    pub(crate) fn release(&self, offset: u64, length: u64) {
        let many = {
            let mut returns = self.returns.lock().unwrap_or_else(PoisonError::into_inner);
            returns.offsets.push(offset);
            returns.bytes += length;
            returns.offsets.len() >= MANY_RETURNS || returns.bytes >= MANY_BYTES
        };
        if many {
            self.push_returns();
            self.flush();
        }
    }

    /// Puts in line what the worker has not heard of blocks that are free.
    pub(crate) fn push_returns(&self) {
        let returns = std::mem::take(&mut *self.returns.lock().unwrap_or_else(PoisonError::into_inner));
        if !returns.offsets.is_empty() {
            let body = Release { offsets: returns.offsets }.encode();
            self.data.outbox.push(Frame::new(Kind::Release, 0).with_body(body));
        }
    }

    /// Writes what was pushed. Called without the pool's lock.
    pub(crate) fn flush(&self) {
        self.control.outbox.flush(&self.control.socket);
        self.data.outbox.flush(&self.data.socket);
    }

    /// Takes back the last calls that were handed ahead, so many at most, and says how many the worker had not claimed.
    pub(crate) fn take_back(&self, most: usize) -> usize {
        self.data.outbox.take_back(most)
    }

    /// Stops writing. Says which calls the worker cannot have begun.
    pub(crate) fn close(&self) -> Vec<u64> {
        self.control.outbox.close(false);
        self.data.outbox.close(self.data.left_unread.load(Ordering::Acquire))
    }

    fn end(&self, lane: Lane) -> &LaneEnd {
        match lane {
            Lane::Data => &self.data,
            Lane::Control => &self.control,
        }
    }
}

/// Who reads and writes a link. Dropped, they stop.
#[derive(Debug)]
pub(crate) struct Tasks {
    data: Arc<Reader>,
    control: JoinHandle<()>,
    writers: [JoinHandle<()>; 2],
    _registration: Registration,
}

impl Tasks {
    /// Waits until both lanes are read to their end.
    pub(crate) async fn ended(&mut self) {
        self.data.ended().await;
        if !self.control.is_finished() {
            // An error is a panic in there, reported already; the lane has ended all the same.
            let _ = (&mut self.control).await;
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.control.abort();
        for writer in &self.writers {
            writer.abort();
        }
    }
}
