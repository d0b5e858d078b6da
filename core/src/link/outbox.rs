//! Frames on their way out of one lane: who writes, in which order, and what was never begun.
//!
//! Frames are pushed under the pool's lock, which fixes their order. They are written without it, by one flusher at a time:
//! whoever finds nobody flushing writes, the others only push. A write never blocks; when the socket is full, or the caller's
//! thread has written its share, the lane's own task takes over.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ganger_protocol::{Flags, Frame, Kind, split_into_chunks};
use tokio::sync::Notify;

use super::socket::Socket;
use crate::process::Claims;

/// A payload up to this size is joined to its head: one copy costs less than a second buffer in the system call.
const JOIN_LENGTH: usize = 16 * 1024;
/// Longer payloads to a worker that runs several calls go in pieces, so that other calls pass between them.
const CHUNK_LENGTH: usize = 256 * 1024;
/// What one system call is given at most.
const SLICES: usize = 32;
/// What a caller's thread writes at most before the lane's task goes on.
const CALLERS_SHARE: usize = 64 * 1024;
/// What the lane's task writes before others get a turn on the IO thread.
const TURN: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    /// Rings when the lane's task has to go on flushing.
    taken_over: Notify,
    /// Payloads are sent in pieces.
    chunked: bool,
    /// Tokens for calls that are handed ahead.
    claims: Option<Claims>,
}

#[derive(Debug, Default)]
struct Queue {
    /// In the order of writing. The first may be partly written.
    buffers: VecDeque<Buffer>,
    /// Pieces that follow a first one already in `buffers`; they take turns with what comes later.
    pieces: VecDeque<VecDeque<Frame>>,
    /// Bytes of the first buffer that are written.
    written: usize,
    /// Buffers that the flusher is writing at this moment: nobody can say whether the system has them yet.
    in_hand: usize,
    flushing: bool,
    /// Tokens that are still to be put, for calls of which no byte is on its way: those of the last.
    tokens: u64,
    /// The lane is gone; nothing is written any more.
    shut: bool,
    /// It was told what was never begun.
    closed: bool,
    /// The call whose frame was begun last, if that frame was a call.
    latest: Option<u64>,
}

/// One contiguous run of bytes.
#[derive(Debug)]
struct Buffer {
    bytes: Bytes,
    /// The call whose frame begins here.
    begins: Option<u64>,
    /// The call whose frame this is a part of.
    of: Option<u64>,
}

/// How far a flush came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// Nothing is left.
    Empty,
    /// The share is used up.
    ShareUsed,
    /// The socket is full.
    Blocked,
}

impl Outbox {
    pub(crate) fn new(chunked: bool, claims: Option<Claims>) -> Self {
        Self { queue: Mutex::new(Queue::default()), taken_over: Notify::new(), chunked, claims }
    }

    pub(crate) fn push(&self, frame: Frame) {
        self.push_pieces(frame, if self.chunked { CHUNK_LENGTH } else { usize::MAX });
    }

    /// In one piece, however long.
    pub(crate) fn push_whole(&self, frame: Frame) {
        self.push_pieces(frame, usize::MAX);
    }

    fn push_pieces(&self, frame: Frame, length: usize) {
        let mut queue = self.lock();
        // To a lane that is gone nothing is written, but `close` has to tell of it all the same.
        if queue.closed {
            return;
        }
        queue.tokens += u64::from(frame.kind == Kind::Call && frame.flags.contains(Flags::AHEAD));
        let mut pieces = split_into_chunks(frame, length);
        let Some(first) = pieces.next() else { return };
        // What follows a payload in pieces that is not whole yet waits for it: an item must not overtake its call.
        if let Some(ahead) = queue.pieces_of(first.seq) {
            ahead.push_back(first);
            ahead.extend(pieces);
            return;
        }
        queue.append(first);
        let rest: VecDeque<Frame> = pieces.collect();
        if !rest.is_empty() {
            queue.pieces.push_back(rest);
        }
    }

    /// Writes on the caller's thread what goes at once. The lane's task does the rest.
    pub(crate) fn flush(&self, socket: &Socket) {
        if !self.begin() {
            return;
        }
        match self.write(socket, CALLERS_SHARE) {
            Ok(Progress::Empty) => {}
            Ok(Progress::ShareUsed | Progress::Blocked) => self.taken_over.notify_one(),
            // The lane's reader sees the same end and reports it.
            Err(_) => self.shut(),
        }
    }

    /// The lane's task: goes on where a caller left off, as the socket has room. Ends with the lane.
    pub(crate) async fn serve(&self, socket: &Socket) {
        loop {
            self.taken_over.notified().await;
            loop {
                match self.write(socket, TURN) {
                    Ok(Progress::Empty) => break,
                    Ok(Progress::ShareUsed) => tokio::task::yield_now().await,
                    Ok(Progress::Blocked) => {
                        if socket.writable().await.is_err() {
                            return self.shut();
                        }
                    }
                    Err(_) => return self.shut(),
                }
            }
        }
    }

    /// Drops what waits. Says which calls were not begun: those that had not one byte written, and, if the worker left bytes `unread`, the
    /// one whose frame was the last.
    pub(crate) fn close(&self, unread: bool) -> Vec<u64> {
        let mut queue = self.lock();
        (queue.shut, queue.closed) = (true, true);
        let unread = queue.latest.take().filter(|_| unread && queue.in_hand == 0);
        // A worker may have read a frame, and died of it, before its flusher comes to note that it was written.
        let begun = queue.in_hand.max(usize::from(queue.written > 0));
        let unwritten = queue.buffers.iter().skip(begun).filter_map(|buffer| buffer.begins);
        let not_begun = unread.into_iter().chain(unwritten).collect();
        queue.buffers.clear();
        queue.pieces.clear();
        not_begun
    }

    /// Takes back so many of the last calls that were handed ahead, unless the worker has claimed them. Of one whose token was never put the
    /// worker takes none either.
    pub(crate) fn take_back(&self, most: usize) -> usize {
        let Some(claims) = &self.claims else { return 0 };
        let mut queue = self.lock();
        let unput = queue.tokens.min(most as u64);
        queue.tokens -= unput;
        let taken = unput + claims.take(most as u64 - unput);
        usize::try_from(taken).expect("no more than were asked for")
    }

    /// Before the worker can read of the calls.
    fn put_tokens(&self, queue: &mut Queue) -> io::Result<()> {
        match (&self.claims, std::mem::take(&mut queue.tokens)) {
            (_, 0) | (None, _) => Ok(()),
            (Some(claims), count) => claims.put(count),
        }
    }

    fn shut(&self) {
        // What waits stays, so that `close` can say what was never begun.
        let mut queue = self.lock();
        queue.shut = true;
        queue.flushing = false;
    }

    /// Takes the flusher's role. False if there is nothing to write or somebody has the role.
    fn begin(&self) -> bool {
        let mut queue = self.lock();
        if queue.flushing || queue.shut || queue.buffers.is_empty() {
            return false;
        }
        queue.flushing = true;
        true
    }

    /// Writes as the flusher. Gives the role up only when nothing is left.
    fn write(&self, socket: &Socket, share: usize) -> io::Result<Progress> {
        let mut sum = 0;
        loop {
            let batch = {
                let mut queue = self.lock();
                if queue.shut {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                queue.next_piece();
                if queue.buffers.is_empty() {
                    queue.flushing = false;
                    return Ok(Progress::Empty);
                }
                if sum >= share {
                    return Ok(Progress::ShareUsed);
                }
                self.put_tokens(&mut queue)?;
                queue.take_in_hand()
            };
            let outcome = write_batch(socket, &batch);
            self.lock().note_written(outcome.as_ref().map_or(0, |count| *count));
            match outcome {
                Ok(count) => sum += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_batch(socket: &Socket, batch: &[Bytes]) -> io::Result<usize> {
    match batch {
        [only] => socket.try_write(only),
        several => {
            let slices: Vec<IoSlice<'_>> = several.iter().map(|bytes| IoSlice::new(bytes)).collect();
            socket.try_write_vectored(&slices)
        }
    }
}

impl Queue {
    fn append(&mut self, frame: Frame) {
        let of = (frame.kind == Kind::Call).then_some(frame.seq);
        if frame.payload.len() <= JOIN_LENGTH {
            self.buffers.push_back(Buffer { bytes: frame.to_bytes().into(), begins: of, of });
        } else {
            self.buffers.push_back(Buffer { bytes: frame.head().into(), begins: of, of });
            self.buffers.push_back(Buffer { bytes: frame.payload, begins: None, of });
        }
    }

    fn pieces_of(&mut self, seq: u64) -> Option<&mut VecDeque<Frame>> {
        self.pieces.iter_mut().find(|pieces| pieces.front().is_some_and(|piece| piece.seq == seq))
    }

    /// Brings in the next piece of a long payload once what came before it is on its way.
    fn next_piece(&mut self) {
        if self.buffers.len() > 1 {
            return;
        }
        if let Some(mut pieces) = self.pieces.pop_front() {
            if let Some(piece) = pieces.pop_front() {
                self.append(piece);
            }
            if !pieces.is_empty() {
                self.pieces.push_back(pieces);
            }
        }
    }

    fn take_in_hand(&mut self) -> Vec<Bytes> {
        let mut batch: Vec<Bytes> =
            self.buffers.iter().take(SLICES).map(|buffer| buffer.bytes.clone()).collect();
        if let Some(first) = batch.first_mut() {
            *first = first.slice(self.written..);
        }
        self.in_hand = batch.len();
        batch
    }

    fn note_written(&mut self, mut count: usize) {
        self.in_hand = 0;
        while count > 0 {
            let Some(first) = self.buffers.front() else { return };
            self.latest = first.of;
            let left = first.bytes.len() - self.written;
            if count < left {
                self.written += count;
                return;
            }
            count -= left;
            self.written = 0;
            self.buffers.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Registered, fork::ForkGate};
    use ganger_protocol::{Assembler, Decoder, Encoding, Limits};
    use tokio::io::AsyncReadExt;
    use tokio::net::UnixStream;

    fn call(seq: u64, payload: usize) -> Frame {
        Frame::new(Kind::Call, seq).with_payload(Encoding::Raw, vec![u8::try_from(seq).unwrap(); payload])
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    /// An end as the pool has it, and one as a worker has it.
    fn pair() -> (Socket, UnixStream) {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let ours = Socket::new(Registered::new(ours, &ForkGate::shut()));
        (ours, UnixStream::from_std(theirs).unwrap())
    }

    /// Reads frames until `count` are whole; returns them in the order in which they became so.
    async fn read(socket: &mut UnixStream, count: usize) -> Vec<Frame> {
        let mut decoder = Decoder::new(Limits::default());
        let mut assembler = Assembler::new(Limits::default());
        let mut frames = Vec::new();
        while frames.len() < count {
            assert!(socket.read_buf(decoder.buffer()).await.unwrap() > 0);
            while let Some(frame) = decoder.next().unwrap() {
                frames.extend(assembler.accept(frame).unwrap());
            }
        }
        frames
    }

    #[test]
    fn a_full_socket_hands_over_to_the_task_and_nothing_is_lost() {
        block_on(async {
            let (ours, mut theirs) = pair();
            let outbox = Outbox::new(false, None);
            let sizes = [10, 3_000_000, 20_000, 0, 700_000];
            for (seq, size) in sizes.iter().enumerate() {
                outbox.push(call(seq as u64 + 1, *size));
                outbox.flush(&ours);
            }
            let frames = tokio::select! {
                frames = read(&mut theirs, sizes.len()) => frames,
                () = outbox.serve(&ours) => unreachable!("the lane is open"),
            };
            assert_eq!(frames.iter().map(|frame| frame.payload.len()).collect::<Vec<_>>(), sizes);
            assert!(
                frames.iter().all(|frame| frame.payload.iter().all(|byte| u64::from(*byte) == frame.seq))
            );
        });
    }

    #[test]
    fn a_small_call_passes_a_long_one_that_goes_in_pieces() {
        block_on(async {
            let (ours, mut theirs) = pair();
            let outbox = Outbox::new(true, None);
            outbox.push(call(1, 5_000_000));
            outbox.flush(&ours);
            outbox.push(call(2, 10));
            outbox.push(call(3, 2_000_000));
            outbox.flush(&ours);
            let frames = tokio::select! {
                frames = read(&mut theirs, 3) => frames,
                () = outbox.serve(&ours) => unreachable!("the lane is open"),
            };
            assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [2, 3, 1]);
            assert_eq!(frames[2].payload.len(), 5_000_000);
        });
    }

    #[test]
    fn items_do_not_overtake_the_call_or_the_item_that_goes_in_pieces_before_them() {
        block_on(async {
            let (ours, mut theirs) = pair();
            let outbox = Outbox::new(true, None);
            let input =
                |payload: usize| Frame::new(Kind::Input, 1).with_payload(Encoding::Raw, vec![1; payload]);
            outbox.push(call(1, 2_000_000));
            outbox.push(input(10));
            outbox.push(input(1_000_000));
            outbox.push(call(2, 10));
            outbox.push(input(20));
            outbox.push(Frame::new(Kind::InputEnd, 1));
            outbox.flush(&ours);
            let frames = tokio::select! {
                frames = read(&mut theirs, 6) => frames,
                () = outbox.serve(&ours) => unreachable!("the lane is open"),
            };
            assert_eq!(frames[0].seq, 2, "another call goes between the pieces");
            let of_one: Vec<(Kind, usize)> =
                frames[1..].iter().map(|frame| (frame.kind, frame.payload.len())).collect();
            let item = |length| (Kind::Input, length);
            let expected =
                [(Kind::Call, 2_000_000), item(10), item(1_000_000), item(20), (Kind::InputEnd, 0)];
            assert_eq!(of_one, expected);
        });
    }

    #[test]
    fn what_is_being_written_when_the_lane_closes_may_have_arrived() {
        let outbox = Outbox::new(false, None);
        for seq in 1..=40 {
            outbox.push(call(seq, 10));
        }
        let first = outbox.lock().take_in_hand();
        outbox.lock().note_written(first[0].len() + 1);
        outbox.lock().take_in_hand();
        assert_eq!(outbox.close(false), (34..=40).collect::<Vec<_>>());
        outbox.lock().note_written(1_000);
        assert!(outbox.close(false).is_empty());
    }

    #[test]
    fn close_tells_begun_calls_from_others() {
        block_on(async {
            let (ours, _theirs) = pair();
            let outbox = Outbox::new(false, None);
            outbox.push(call(1, 10));
            outbox.push(call(2, 4_000_000));
            outbox.push(call(3, 10));
            outbox.flush(&ours);
            outbox.shut();
            outbox.push(call(4, 10));
            assert_eq!(
                outbox.close(false),
                [3, 4],
                "what came after the end of the lane was not begun either"
            );
            outbox.push(call(5, 10));
            assert!(outbox.close(false).is_empty());
        });
    }

    #[test]
    fn of_what_a_worker_left_unread_the_last_frame_is_not_begun() {
        block_on(async {
            for (after, unread) in
                [(None, vec![2]), (Some(Kind::Ping), Vec::new()), (Some(Kind::Call), vec![3])]
            {
                let (ours, _theirs) = pair();
                let outbox = Outbox::new(false, None);
                outbox.push(call(1, 10));
                outbox.push(call(2, 100_000));
                if let Some(kind) = after {
                    outbox.push(Frame::new(kind, 3));
                }
                outbox.flush(&ours);
                assert_eq!(outbox.close(true), unread, "{after:?}");
            }
        });
    }
}
