//! What has come in on one lane, from bytes to whole frames.

use std::io;

use ganger_protocol::{Assembler, Decoder, Frame, FrameError, Lane, Limits};

use super::Listener;
use super::socket::Socket;

/// What a reader takes before others get a turn.
const TURN: usize = 256 * 1024;

/// How a turn of reading ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nothing is left.
    Blocked,
    /// There may be more.
    ShareUsed,
    /// The lane is over: the other side closed it or broke the protocol.
    Ended,
}

#[derive(Debug)]
pub(super) struct Inbox {
    lane: Lane,
    decoder: Decoder,
    assembler: Assembler,
    /// The other side went without having read all that was written to it.
    left_unread: bool,
}

impl Inbox {
    pub(super) fn new(lane: Lane, limits: Limits) -> Self {
        let (decoder, assembler) = (Decoder::new(limits), Assembler::new(limits));
        Self { lane, decoder, assembler, left_unread: false }
    }

    /// Reads until the socket is empty or the turn is over, and tells the listener what became whole.
    pub(super) fn read(&mut self, socket: &Socket, listener: &dyn Listener) -> Turn {
        let turn = self.receive(socket).unwrap_or_else(|error| {
            self.left_unread = cfg!(target_os = "linux") && error.kind() == io::ErrorKind::ConnectionReset;
            Turn::Ended
        });
        // What came in the last turn before the end counts.
        let mut frames = Vec::new();
        let outcome = self.collect(&mut frames, listener);
        if !frames.is_empty() {
            listener.frames(self.lane, frames);
        }
        match outcome {
            Ok(()) => turn,
            Err(error) => {
                listener.violated(error);
                Turn::Ended
            }
        }
    }

    /// Known at the end of the lane, where the system tells.
    pub(super) fn left_unread(&self) -> bool {
        self.left_unread
    }

    fn receive(&mut self, socket: &Socket) -> io::Result<Turn> {
        let mut sum = 0;
        while sum < TURN {
            let buffer = self.decoder.buffer();
            let room = buffer.capacity() - buffer.len();
            // It holds a whole frame, to be taken out first. A read without room would look like the end.
            if room == 0 {
                return Ok(Turn::ShareUsed);
            }
            match socket.try_read(buffer) {
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

    /// Takes whole frames out of what was read.
    fn collect(&mut self, frames: &mut Vec<Frame>, listener: &dyn Listener) -> Result<(), FrameError> {
        loop {
            let next = self.decoder.next().and_then(|frame| match frame {
                Some(frame) => self.assembler.accept(frame).map(Some),
                None => Ok(None),
            });
            match next {
                Ok(Some(Some(frame))) => frames.push(frame),
                Ok(Some(None)) => {}
                Ok(None) => return Ok(()),
                Err(FrameError::PayloadTooLarge { seq, kind, length, limit }) => {
                    listener.too_large(kind, seq, length, limit);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Registered;
    use crate::process::fork::ForkGate;
    use ganger_protocol::{Encoding, Kind};
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;
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

    async fn read(inbox: &mut Inbox, socket: &Socket, listener: &Arrivals) {
        while inbox.read(socket, listener) != Turn::Ended {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_payload_that_fills_the_buffer_is_not_the_end_of_the_lane() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            theirs.set_nonblocking(true).unwrap();
            let socket = Socket::new(Registered::new(ours, &ForkGate::shut()));
            let mut inbox = Inbox::new(Lane::Data, Limits::default());
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
                    () = read(&mut inbox, &socket, &arrivals) => panic!("the lane is open"),
                    () = write => {}
                }
            };
            tokio::time::timeout(Duration::from_secs(30), both).await.expect("every frame arrives");
            assert_eq!(*arrivals.0.lock().unwrap(), lengths);
        });
    }
}
