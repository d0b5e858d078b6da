//! What a function holds of its streams: [`Inputs`] to read, a [`Sender`] to write. A function has them by
//! taking them as parameters.

use std::marker::PhantomData;

use ganger_protocol::message::{ErrorReport, FunctionKind, Shape, code};
use ganger_protocol::{Bytes, Encoding, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::Cancelled;
use crate::function::Declaration;
use crate::inbox::Next;
use crate::payload::{decode_input, encode_output};
use crate::session::{InputItem, Outcome};

/// The input stream of a call: what the caller sends while the function runs. Taking it as a parameter makes a
/// function one that reads such a stream.
///
/// An iterator: it waits for the next item, and ends when the caller has sent its last. The caller is held back
/// while 64 items or 4 MiB wait here. A function need not read to the end.
///
/// ```no_run
/// # use ganger_worker::{Inputs, StreamError, Worker};
/// fn sum(start: i64, numbers: Inputs<i64>) -> Result<i64, StreamError> {
///     numbers.into_iter().try_fold(start, |sum, number| Ok(sum + number?))
/// }
/// Worker::new().function("sum", sum).run()
/// ```
#[derive(Debug)]
pub struct Inputs<T> {
    context: Context,
    items: PhantomData<fn() -> T>,
}

/// Sends the items of a call, as they come to be. Taking it as a parameter makes a function one that answers with
/// many values; what it returns ends the stream. A clone sends into the same stream.
///
/// ```no_run
/// # use ganger_worker::{Sender, StreamError, Worker};
/// fn count(to: u64, items: Sender<u64>) -> Result<(), StreamError> {
///     (0..to).try_for_each(|number| items.send(&number))
/// }
/// Worker::new().function("count", count).run()
/// ```
#[derive(Debug)]
pub struct Sender<T> {
    context: Context,
    items: PhantomData<fn(T)>,
}

/// Why a stream cannot go on. A function that returns it, or an error caused by it, ends its call as it says.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The call was asked to stop: whoever read the stream has left, time is up, or the source of the inputs failed.
    #[error("the call was cancelled")]
    Cancelled(#[from] Cancelled),
    /// An item does not fit its type, cannot be encoded, or is too large.
    #[error("{}", .0.message)]
    Misfit(Box<ErrorReport>),
}

/// What a function may take beside its input: a [`Context`], [`Inputs`], a [`Sender`],
/// the [`State`](crate::State).
pub trait Part {
    #[doc(hidden)]
    fn of(context: &Context) -> Self;

    #[doc(hidden)]
    fn declare(_declaration: &mut Declaration) {}
}

impl Part for Context {
    fn of(context: &Context) -> Self {
        context.clone()
    }
}

impl<T: DeserializeOwned + 'static> Part for Inputs<T> {
    fn of(context: &Context) -> Self {
        Self { context: context.clone(), items: PhantomData }
    }

    fn declare(declaration: &mut Declaration) {
        // Of anything, as far as is known here.
        declaration.contract.inputs.get_or_insert_with(|| Value::Map(Vec::new()));
    }
}

impl<T: Serialize + 'static> Part for Sender<T> {
    fn of(context: &Context) -> Self {
        Self { context: context.clone(), items: PhantomData }
    }

    fn declare(declaration: &mut Declaration) {
        declaration.contract.kind = FunctionKind::Stream;
    }
}

impl<T: DeserializeOwned + 'static> Iterator for Inputs<T> {
    type Item = Result<T, StreamError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.context.call.inbox.next() {
            Next::Item(item) => Some(self.read(item)),
            Next::Closed => Some(Err(Cancelled.into())),
            Next::End | Next::Wait => None,
        }
    }
}

impl<T: DeserializeOwned + 'static> Inputs<T> {
    /// The next item for an asynchronous function; none after the last.
    #[cfg(feature = "async")]
    pub async fn next_async(&mut self) -> Option<Result<T, StreamError>> {
        let context = self.context.clone();
        loop {
            let notice = context.call.inbox.notice.notified();
            tokio::pin!(notice);
            // Registered before the look: what comes between the two still wakes it.
            notice.as_mut().enable();
            match context.call.inbox.look() {
                Next::Item(item) => return Some(self.read(item)),
                Next::Closed => return Some(Err(Cancelled.into())),
                Next::End => return None,
                Next::Wait => notice.await,
            }
        }
    }

    fn read(&self, item: InputItem) -> Result<T, StreamError> {
        let encoding = item.encoding;
        let payload = self.context.engine.take_input(self.context.call(), item)?;
        decode_item(encoding, &payload).map_err(StreamError::Misfit)
    }
}

fn decode_item<T: DeserializeOwned + 'static>(
    encoding: Option<Encoding>,
    payload: &Bytes,
) -> Result<T, Box<ErrorReport>> {
    let unknown =
        || Box::new(ErrorReport::new(code::INVALID_INPUT, "", "the encoding of the item is unknown"));
    decode_input(encoding.ok_or_else(unknown)?, Shape::Value, payload)
}

impl<T: Serialize + 'static> Sender<T> {
    /// Sends an item; waits until the caller has room for it.
    ///
    /// # Errors
    /// The call was asked to stop, or has ended; or the item cannot be sent.
    pub fn send(&self, item: &T) -> Result<(), StreamError> {
        let (encoding, payload) = encode_output(item).map_err(StreamError::Misfit)?;
        self.context.engine.send_item(&self.context, encoding, &payload).map_err(StreamError::from)
    }

    /// [`send`](Self::send) for an asynchronous function.
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "async")]
    pub async fn send_async(&self, item: &T) -> Result<(), StreamError> {
        let (encoding, payload) = encode_output(item).map_err(StreamError::Misfit)?;
        let sent = self.context.engine.send_item_async(&self.context, encoding, &payload).await;
        sent.map_err(StreamError::from)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { context: self.context.clone(), items: PhantomData }
    }
}

impl From<Outcome> for StreamError {
    fn from(end: Outcome) -> Self {
        match end {
            Outcome::Failed(report) => Self::Misfit(report),
            Outcome::Cancelled | Outcome::Result(..) => Self::Cancelled(Cancelled),
        }
    }
}
