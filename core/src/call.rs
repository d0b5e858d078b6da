//! A call as the app gives it and as it gets it back. Payloads are opaque here: bytes and the name of their encoding.

use std::sync::Arc;

use bytes::Bytes;
pub use ganger_protocol::Encoding;
pub use ganger_protocol::message::{Progress, Shape};

use crate::arena::{Block, PrivateView, ResultBlock};
use crate::error::Error;
use crate::options::CallOptions;

/// What a function is called with.
#[derive(Clone, Debug)]
pub struct Input {
    /// How `payload` is encoded.
    pub encoding: Encoding,
    /// One value, or a list of positional and a map of named arguments.
    pub shape: Shape,
    /// The encoded bytes. They are kept until the call is settled, for another attempt.
    pub payload: Bytes,
    /// Where in shared memory they lie, if they do.
    pub(crate) block: Option<Block>,
    /// There was no room for them in shared memory.
    pub(crate) refused: bool,
    /// They are what the app's value lets others look at, not a value of their own; a hint for the worker.
    pub view: bool,
}

impl Input {
    /// Encoded bytes.
    pub fn new(encoding: Encoding, shape: Shape, payload: impl Into<Bytes>) -> Self {
        Self { encoding, shape, payload: payload.into(), block: None, refused: false, view: false }
    }

    /// One value in MessagePack.
    pub fn message_pack(payload: impl Into<Bytes>) -> Self {
        Self::new(Encoding::MessagePack, Shape::Value, payload)
    }

    /// One byte string.
    pub fn raw(payload: impl Into<Bytes>) -> Self {
        Self::new(Encoding::Raw, Shape::Value, payload)
    }

    /// Encoded bytes that lie in shared memory already ([`Pool::reserve`](crate::Pool::reserve)).
    pub fn shared(encoding: Encoding, shape: Shape, block: Block) -> Self {
        Self { block: Some(block.clone()), ..Self::new(encoding, shape, Bytes::from_owner(block)) }
    }

    /// This input, for which [`Pool::reserve`](crate::Pool::reserve) had no room: it is not asked once more, nor counted twice.
    #[must_use]
    pub fn without_room(self) -> Self {
        Self { refused: true, ..self }
    }

    /// This input, marked as a view.
    #[must_use]
    pub fn as_view(self) -> Self {
        Self { view: true, ..self }
    }
}

/// Where in shared memory the bytes of a reply lie.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// They are a part of what the call came with.
    Input(Block),
    /// The worker left them there for this reply.
    Result(ResultBlock),
}

/// What a function answered, or one item of a stream.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How `payload` is encoded.
    pub encoding: Encoding,
    /// The encoded bytes. They may lie in shared memory, which is in use as long as these live.
    pub payload: Bytes,
    /// They are what the function's value lets others look at, not a value of their own.
    pub view: bool,
    /// Where in shared memory they lie, if they do.
    pub(crate) place: Option<Place>,
    /// Attempts that it took.
    pub attempts: u32,
}

impl Reply {
    /// One value in MessagePack.
    pub(crate) fn message_pack(payload: impl Into<Bytes>) -> Self {
        let payload = payload.into();
        Self { encoding: Encoding::MessagePack, payload, view: false, place: None, attempts: 0 }
    }

    /// Whether the payload is this reply's alone, so that its holder may change it: neither the worker nor another call looks at it.
    pub fn is_exclusive(&self) -> bool {
        match &self.place {
            // The worker may hold it still, and who hands the same bytes over again shares it.
            Some(Place::Input(_)) => false,
            Some(Place::Result(_)) | None => true,
        }
    }

    /// Whether the payload is what the call came with, all of it and unchanged, as it lies in shared memory.
    pub fn is_input(&self) -> bool {
        match &self.place {
            Some(Place::Input(block)) => block.as_ref().len() == self.payload.len(),
            Some(Place::Result(_)) | None => false,
        }
    }

    /// The payload to be read and written although others look at it: none of them sees what is written. None: it does not lie in shared memory,
    /// or the system has no such view to give.
    pub fn privately(&self) -> Option<PrivateView> {
        let Some(Place::Input(block)) = &self.place else { return None };
        let start = self.payload.as_ptr().addr().checked_sub(block.as_ref().as_ptr().addr())?;
        block.privately(start..start + self.payload.len())
    }

    /// The shared memory that the payload is all of, if the worker left it there for this reply alone.
    pub fn block(&self) -> Option<&ResultBlock> {
        match &self.place {
            Some(Place::Result(block)) => Some(block),
            Some(Place::Input(_)) | None => None,
        }
    }
}

/// How a call ended.
pub type Outcome = Result<Reply, Box<Error>>;

/// Receives the outcome of a call, exactly once. It may run on the IO thread: it must be quick and must not run an app's code.
pub type Completion = Box<dyn FnOnce(Outcome) + Send>;

/// Receives what each worker answered: its place in the pool and the outcome. The same holds as for a [`Completion`].
pub type Gathered = Box<dyn FnOnce(Vec<(u32, Outcome)>) + Send>;

/// Told that something is so, or why it will never be. The same holds as for a [`Completion`].
pub type Waiter = Box<dyn FnOnce(Result<(), Box<Error>>) + Send>;

/// Told how far a call is, each time that its function says so (`context.progress`). Clones are the same observer.
#[derive(Clone)]
pub struct ProgressObserver(Arc<dyn Fn(&Progress) + Send + Sync>);

impl ProgressObserver {
    /// `observe` gets what is done, of how much if that is known, and a line for people: in the order sent, and all before the call's outcome. Only
    /// a call that its app gives up, or that runs out of time, may be settled while the last is being told. It runs on the IO thread: it must be
    /// quick and must not run an app's code. A function may say it a million times; who hands it on needs to keep the latest only.
    pub fn new(observe: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn tell(&self, progress: &Progress) {
        (self.0)(progress);
    }
}

impl std::fmt::Debug for ProgressObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgressObserver").finish_non_exhaustive()
    }
}

/// One call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name of the function.
    pub function: Arc<str>,
    /// What it is called with.
    pub input: Input,
    /// How.
    pub options: CallOptions,
    /// Who is told how far it is.
    pub on_progress: Option<ProgressObserver>,
}

impl Call {
    /// A call with every option at the pool's default.
    pub fn new(function: &str, input: Input) -> Self {
        Self { function: function.into(), input, options: CallOptions::default(), on_progress: None }
    }
}
