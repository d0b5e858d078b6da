//! What of shared memory a worker and the host have lent each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use ganger_protocol::message::SharedMemory;
use ganger_protocol::{Arena, Encoding, Flags, Frame, Reference};
use rustc_hash::FxHashMap;

use crate::arena::{Block, InputArena, ResultArena, SHARED_MEMORY_THRESHOLD};
use crate::call::{Input, Place};
use crate::link::Link;
use crate::process::FIRST_INHERITED_FD;

/// What a frame of a worker refers to.
pub(super) struct Found {
    pub(super) bytes: Bytes,
    pub(super) place: Place,
}

/// One worker's part in shared memory.
#[derive(Debug, Default)]
pub(crate) struct Loans {
    arenas: Option<Arenas>,
    /// Blocks of inputs that it may look at.
    lent: Arc<Lent>,
}

/// Blocks of the input arena that a worker may look at, by the number of their call: its input first, then items of its input stream.
#[derive(Debug, Default)]
struct Lent(Mutex<FxHashMap<u64, Vec<Block>>>);

/// Lends items of input streams to a worker, without the pool's lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lender {
    /// None: they go through the lane.
    arena: Option<InputArena>,
    lent: Arc<Lent>,
}

#[derive(Debug)]
struct Arenas {
    inputs: InputArena,
    results: Arc<ResultArena>,
    /// The worker said that it can.
    agreed: bool,
}

impl Loans {
    /// What a worker that inherits both arenas may use.
    pub(crate) fn of(inputs: InputArena, results: Arc<ResultArena>) -> Self {
        Self { arenas: Some(Arenas { inputs, results, agreed: false }), lent: Arc::default() }
    }

    /// What WELCOME says of it.
    pub(super) fn agree(&mut self, worker_can: bool) -> Option<SharedMemory> {
        let arenas = self.arenas.as_mut().filter(|_| worker_can)?;
        arenas.agreed = true;
        let first = FIRST_INHERITED_FD.unsigned_abs();
        Some(SharedMemory {
            input_fd: first,
            result_fd: first + 1,
            input_size: arenas.inputs.size() as u64,
            result_size: arenas.results.size() as u64,
            threshold: SHARED_MEMORY_THRESHOLD as u64,
        })
    }

    /// The first descriptor of the worker's that is no arena.
    pub(super) fn first_free_fd(&self) -> u32 {
        FIRST_INHERITED_FD.unsigned_abs() + if self.arenas.is_some() { 2 } else { 0 }
    }

    /// The frame with a call's input: a reference if the worker can look there, else the bytes.
    pub(super) fn carry(&self, frame: Frame, input: &Input) -> Frame {
        self.lender().carry(frame, input)
    }

    pub(super) fn lender(&self) -> Lender {
        let agreed = self.arenas.as_ref().filter(|arenas| arenas.agreed);
        Lender { arena: agreed.map(|arenas| arenas.inputs.clone()), lent: Arc::clone(&self.lent) }
    }

    /// The worker looks no more at what came with this call.
    pub(super) fn given_back(&self, seq: u64) {
        drop(self.lent.lock().remove(&seq));
    }

    /// The worker looks no more at these items of the call's input stream.
    pub(super) fn items_given_back(&self, seq: u64, offsets: &[u64]) {
        let mut lent = self.lent.lock();
        if let Some(blocks) = lent.get_mut(&seq) {
            blocks.retain(|block| !offsets.contains(&block.offset()));
        }
    }

    /// The bytes that a frame of the worker refers to. When nobody looks at them any more, the worker hears of it.
    pub(super) fn resolve(&self, frame: &Frame, link: Weak<Link>) -> Result<Found, String> {
        let arenas = self.arenas.as_ref().filter(|arenas| arenas.agreed);
        let arenas = arenas.ok_or("a reference to shared memory that was not agreed on")?;
        let reference = Reference::read(&frame.payload).ok_or("a malformed reference to shared memory")?;
        let Reference { arena, offset, length } = reference;
        let found = match arena {
            Arena::Input => self.lent_bytes(frame.seq, offset, length),
            Arena::Result => {
                let release = Box::new(move |offset, length| {
                    if let Some(link) = link.upgrade() {
                        link.release(offset, length);
                    }
                });
                let block = arenas.results.take(offset, length, release);
                block.map(|block| Found {
                    bytes: Bytes::from_owner(block.clone()),
                    place: Place::Result(block),
                })
            }
        };
        found.ok_or_else(|| {
            format!("a reference to {length} bytes at {offset}, which are not its to refer to")
        })
    }

    /// Bytes within the block that the call came with.
    fn lent_bytes(&self, seq: u64, offset: u64, length: u64) -> Option<Found> {
        self.lent.lock().get(&seq)?.iter().find_map(|block| within(block, offset, length))
    }
}

impl Lender {
    /// The frame with an input: a reference if the worker can look there, else the bytes.
    pub(crate) fn carry(&self, frame: Frame, input: &Input) -> Frame {
        let seq = frame.seq;
        let mut frame = match (&self.arena, &input.block) {
            (Some(arena), Some(block)) if block.is_in(arena) => {
                let length = input.payload.len() as u64;
                let reference = Reference { arena: Arena::Input, offset: block.offset(), length };
                self.lent.lock().entry(seq).or_default().push(block.clone());
                let mut frame = frame.with_payload(input.encoding, reference.to_bytes().to_vec());
                frame.flags = frame.flags.with(Flags::SHARED);
                frame
            }
            _ => frame.with_payload(input.encoding, input.payload.clone()),
        };
        if input.view && input.encoding == Encoding::Raw {
            frame.flags = frame.flags.with(Flags::VIEW);
        }
        frame
    }
}

impl Lent {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, Vec<Block>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn within(block: &Block, offset: u64, length: u64) -> Option<Found> {
    let start = usize::try_from(offset.checked_sub(block.offset())?).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    let bytes = Bytes::from_owner(block.clone());
    let place = Place::Input(block.clone());
    (end <= bytes.len()).then(|| Found { bytes: bytes.slice(start..end), place })
}
