//! The two lanes to one worker.

mod outbox;
mod socket;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use ganger_protocol::message::Release;
use ganger_protocol::{Assembler, Decoder, Frame, FrameError, Kind, Lane, Limits};
use tokio::task::JoinHandle;

use outbox::Outbox;
use socket::Socket;

use crate::process::Registered;

/// What a reader takes before others get a turn on the IO thread.
const TURN: usize = 256 * 1024;

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
}

impl Link {
    /// Takes two connected, non-blocking sockets. `concurrency` is the worker's: one that runs several calls gets long payloads
    /// in pieces. Must be called within the runtime.
    pub(crate) fn new(
        data: Registered<UnixStream>,
        control: Registered<UnixStream>,
        concurrency: u32,
    ) -> io::Result<Arc<Self>> {
        let end = |stream, chunked| {
            io::Result::Ok(LaneEnd { socket: Socket::new(stream)?, outbox: Outbox::new(chunked) })
        };
        let (data, control) = (end(data, concurrency > 1)?, end(control, false)?);
        Ok(Arc::new(Self { data, control, returns: Mutex::default() }))
    }

    /// Starts reading and, when callers cannot, writing.
    pub(crate) fn serve(self: &Arc<Self>, limits: Limits, listener: &Arc<dyn Listener>) -> Tasks {
        let read = |lane| {
            let (link, listener) = (Arc::clone(self), Arc::clone(listener));
            tokio::spawn(async move { link.end(lane).read(lane, limits, &*listener).await })
        };
        let write = |lane| {
            let link = Arc::clone(self);
            tokio::spawn(async move { link.end(lane).outbox.serve(&link.end(lane).socket).await })
        };
        let lanes = [Lane::Data, Lane::Control];
        Tasks { readers: lanes.map(read), writers: lanes.map(write) }
    }

    /// Puts a frame in line. Called under the pool's lock, which fixes the order.
    pub(crate) fn push(&self, lane: Lane, frame: Frame) {
        if frame.kind == Kind::Call {
            self.push_returns();
        }
        self.end(lane).outbox.push(frame);
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

    /// Stops writing. Says which calls had not one byte written.
    pub(crate) fn close(&self) -> Vec<u64> {
        self.control.outbox.close();
        self.data.outbox.close()
    }

    fn end(&self, lane: Lane) -> &LaneEnd {
        match lane {
            Lane::Data => &self.data,
            Lane::Control => &self.control,
        }
    }
}

/// The tasks of a link. They are aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct Tasks {
    readers: [JoinHandle<()>; 2],
    writers: [JoinHandle<()>; 2],
}

impl Tasks {
    /// Waits until both lanes are read to their end.
    pub(crate) async fn ended(&mut self) {
        for reader in &mut self.readers {
            if !reader.is_finished() {
                // An error is a panic in there, reported already; the lane has ended all the same.
                let _ = reader.await;
            }
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in self.readers.iter().chain(&self.writers) {
            task.abort();
        }
    }
}

impl LaneEnd {
    /// The host never stops reading: whatever a worker sends finds its way out of the socket.
    async fn read(&self, lane: Lane, limits: Limits, listener: &dyn Listener) {
        let mut decoder = Decoder::new(limits);
        let mut assembler = Assembler::new(limits);
        while self.socket.readable().await.is_ok() {
            match self.read_turn(&mut decoder) {
                Ok(Turn::Blocked) => {}
                Ok(Turn::Ended) => break,
                Ok(Turn::ShareUsed) => tokio::task::yield_now().await,
                Err(_) => break,
            }
            let mut frames = Vec::new();
            let outcome = collect(&mut decoder, &mut assembler, &mut frames, listener);
            if !frames.is_empty() {
                listener.frames(lane, frames);
            }
            if let Err(error) = outcome {
                return listener.violated(error);
            }
        }
        // What came in the last turn before the end counts.
        let mut frames = Vec::new();
        let outcome = collect(&mut decoder, &mut assembler, &mut frames, listener);
        if !frames.is_empty() {
            listener.frames(lane, frames);
        }
        if let Err(error) = outcome {
            listener.violated(error);
        }
    }

    /// Reads until the socket is empty or the turn is over.
    fn read_turn(&self, decoder: &mut Decoder) -> io::Result<Turn> {
        let mut sum = 0;
        while sum < TURN {
            let buffer = decoder.buffer();
            let room = buffer.capacity() - buffer.len();
            // It holds a whole frame, to be taken out first. A read without room would look like the end.
            if room == 0 {
                return Ok(Turn::ShareUsed);
            }
            match self.socket.try_read(buffer) {
                Ok(0) => return Ok(Turn::Ended),
                // A read that did not fill its buffer has emptied the socket: asking again would only be told so.
                Ok(count) if count < room => return Ok(Turn::Blocked),
                Ok(count) => sum += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Turn::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Turn::ShareUsed)
    }
}

/// How a turn of reading ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Blocked,
    ShareUsed,
    Ended,
}

/// Takes whole frames out of what was read.
fn collect(
    decoder: &mut Decoder,
    assembler: &mut Assembler,
    frames: &mut Vec<Frame>,
    listener: &dyn Listener,
) -> Result<(), FrameError> {
    loop {
        let next = decoder.next().and_then(|frame| match frame {
            Some(frame) => assembler.accept(frame).map(Some),
            None => Ok(None),
        });
        match next {
            Ok(Some(Some(frame))) => frames.push(frame),
            Ok(Some(None)) => {}
            Ok(None) => return Ok(()),
            Err(FrameError::PayloadTooLarge { seq, kind, length, limit }) => {
                listener.too_large(kind, seq, length, limit)
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::fork::ForkGate;
    use ganger_protocol::Encoding;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt;

    /// Payload lengths in the order of arrival.
    #[derive(Default)]
    struct Arrivals(Mutex<Vec<usize>>);

    impl Listener for Arrivals {
        fn frames(&self, _lane: Lane, frames: Vec<Frame>) {
            self.0.lock().unwrap().extend(frames.iter().map(|frame| frame.payload.len()));
        }

        fn too_large(&self, _kind: Kind, seq: u64, _length: u64, _limit: u64) {
            panic!("the answer {seq} is not too large");
        }

        fn violated(&self, error: FrameError) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_payload_that_fills_the_buffer_is_not_the_end_of_the_lane() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            theirs.set_nonblocking(true).unwrap();
            let socket = Socket::new(Registered::new(ours, &ForkGate::shut())).unwrap();
            let lane = LaneEnd { socket, outbox: Outbox::new(false) };
            let mut theirs = tokio::net::UnixStream::from_std(theirs).unwrap();
            let (arrivals, lengths) = (Arrivals::default(), [300_000, 1, 3_000_000, 0, 70_000, 5]);
            let write = async {
                for (seq, length) in (1..).zip(lengths) {
                    let frame = Frame::new(Kind::Result, seq).with_payload(Encoding::Raw, vec![0_u8; length]);
                    theirs.write_all(&frame.to_bytes()).await.unwrap();
                }
                // Read until the reader has them all: it must not end before we do.
                while arrivals.0.lock().unwrap().len() < lengths.len() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let both = async {
                tokio::select! {
                    () = lane.read(Lane::Data, Limits::default(), &arrivals) => panic!("the lane is open"),
                    () = write => {}
                }
            };
            tokio::time::timeout(Duration::from_secs(30), both).await.expect("every frame arrives");
            assert_eq!(*arrivals.0.lock().unwrap(), lengths);
        });
    }
}
