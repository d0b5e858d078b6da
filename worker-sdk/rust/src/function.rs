//! What a worker offers: functions with their promises, made of plain closures.

use std::time::Duration;

use ganger_protocol::message::{Contract, Exclusive, FunctionKind};
use ganger_protocol::{Bytes, Encoding};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::batch::Together;
use crate::context::Context;
use crate::error::{BoxError, outcome_of};
use crate::items::Items;
use crate::payload::{decode_input, encode_output};
use crate::session::{Outcome, Run};
use crate::state::StateType;
use crate::streams::Part;

/// A function of a worker and what it promises.
pub struct Function {
    pub(crate) contract: Contract,
    pub(crate) state: Option<StateType>,
    pub(crate) body: Body,
}

/// What the parameters of a function say of it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Declaration {
    pub(crate) contract: Contract,
    pub(crate) state: Option<StateType>,
}

/// A call's input, not decoded yet.
pub(crate) struct Input {
    encoding: Encoding,
    shape: ganger_protocol::message::Shape,
    payload: Bytes,
}

type Blocking = Box<dyn Fn(Input, &Context) -> Outcome + Send + Sync>;

#[cfg(feature = "async")]
type Async = Box<dyn Fn(Input, &Context) -> Result<Running, Outcome> + Send + Sync>;

/// A future that runs an asynchronous function.
#[cfg(feature = "async")]
pub(crate) type Running = std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>>;

pub(crate) enum Body {
    Blocking(Blocking),
    #[cfg(feature = "async")]
    Async(Async),
    Together(Together),
}

/// What a function may return: a value, or a `Result` with an error of any type.
pub trait Output<Marker> {
    /// The value that is sent.
    type Value: Serialize + 'static;

    /// The value, or the error and the name of its type.
    ///
    /// # Errors
    /// The function's own error.
    fn into_result(self) -> Result<Self::Value, (BoxError, &'static str)>;
}

/// What can be a function: a closure of an input, and of up to four [`Part`]s of its call: a [`Context`],
/// [`Inputs`](crate::Inputs), a [`Sender`](crate::Sender), the [`State`](crate::State).
pub trait Handler<Marker>: Send + Sync + 'static {
    /// The input's type.
    type Input: DeserializeOwned + 'static;
    /// What it returns.
    type Output;

    /// Calls it.
    fn call(&self, input: Self::Input, context: Context) -> Self::Output;

    #[doc(hidden)]
    fn declare(_declaration: &mut Declaration) {}
}

#[doc(hidden)]
pub enum Plain {}
#[doc(hidden)]
pub enum Fallible {}
#[doc(hidden)]
pub struct InputOnly<I>(std::marker::PhantomData<I>);
#[doc(hidden)]
pub struct WithParts<I, P>(std::marker::PhantomData<(I, P)>);

impl<T: Serialize + 'static> Output<Plain> for T {
    type Value = T;

    fn into_result(self) -> Result<T, (BoxError, &'static str)> {
        Ok(self)
    }
}

impl<T: Serialize + 'static, E: Into<BoxError> + 'static> Output<Fallible> for Result<T, E> {
    type Value = T;

    fn into_result(self) -> Result<T, (BoxError, &'static str)> {
        self.map_err(|error| (error.into(), std::any::type_name::<E>()))
    }
}

impl<F, I, O> Handler<InputOnly<I>> for F
where
    F: Fn(I) -> O + Send + Sync + 'static,
    I: DeserializeOwned + 'static,
{
    type Input = I;
    type Output = O;

    fn call(&self, input: I, _: Context) -> O {
        self(input)
    }
}

/// Functions with so many parts.
macro_rules! handlers {
    ($( ($($part:ident),+) )+) => { $(
        impl<F, I, O, $($part),+> Handler<WithParts<I, ($($part,)+)>> for F
        where
            F: Fn(I, $($part),+) -> O + Send + Sync + 'static,
            I: DeserializeOwned + 'static,
            $($part: Part,)+
        {
            type Input = I;
            type Output = O;

            fn call(&self, input: I, context: Context) -> O {
                self(input, $($part::of(&context)),+)
            }

            fn declare(declaration: &mut Declaration) {
                $($part::declare(declaration);)+
            }
        }
    )+ };
}

handlers! { (A) (A, B) (A, B, C) (A, B, C, D) }

impl Function {
    /// A function that runs on a thread of its own.
    pub fn new<H, M, N>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: Output<N>,
    {
        let body = move |input: Input, context: &Context| match input.decode::<H::Input>() {
            Ok(input) => outcome(handler.call(input, context.clone())),
            Err(outcome) => outcome,
        };
        declared::<H, M>(name).function(Body::Blocking(Box::new(body)))
    }

    /// A function that answers with many values, one after the other: it returns [`Items`].
    /// The next one is asked for when the caller has room for it.
    pub fn stream<H, M, N, L, T>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: Items<L, Item = T>,
        T: Output<N>,
    {
        let body = move |input: Input, context: &Context| match input.decode::<H::Input>() {
            Ok(input) => send_all(handler.call(input, context.clone()), context),
            Err(outcome) => outcome,
        };
        declared::<H, M>(name).streaming().function(Body::Blocking(Box::new(body)))
    }

    /// An asynchronous function. A cancel drops its future.
    #[cfg(feature = "async")]
    pub fn new_async<H, M, N>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: Future<Output: Output<N>> + Send + 'static,
    {
        let body = move |input: Input, context: &Context| -> Result<Running, Outcome> {
            let future = handler.call(input.decode::<H::Input>()?, context.clone());
            Ok(Box::pin(async move { outcome(future.await) }))
        };
        declared::<H, M>(name).function(Body::Async(Box::new(body)))
    }

    /// A function that answers with many values, one after the other: it returns an asynchronous stream of them.
    /// The next item is asked for when the caller has room for it. A cancel drops the stream.
    #[cfg(feature = "async")]
    pub fn stream_async<H, M, N: 'static, T>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: futures_core::Stream<Item = T> + Send + 'static,
        T: Output<N> + Send + 'static,
    {
        let body = move |input: Input, context: &Context| -> Result<Running, Outcome> {
            let items = handler.call(input.decode::<H::Input>()?, context.clone());
            Ok(Box::pin(send_all_async(items, context.clone())))
        };
        declared::<H, M>(name).streaming().function(Body::Async(Box::new(body)))
    }

    /// A line for people.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.contract.summary = Some(summary.into());
        self
    }

    /// Whether a call may be tried again after its worker died: without a promise it never is.
    #[must_use]
    pub const fn idempotent(mut self, promised: bool) -> Self {
        self.contract.idempotent = promised;
        self
    }

    /// How long an attempt may run unless the call says otherwise.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.contract.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// How many slots of the worker's concurrency a call takes.
    #[must_use]
    pub const fn slots(mut self, slots: u32) -> Self {
        self.contract.slots = slots;
        self
    }

    /// What a call costs a node.
    ///
    /// # Panics
    /// If it is not between 1 and 100.
    #[must_use]
    pub fn weight(mut self, weight: u8) -> Self {
        assert!((1..=100).contains(&weight), "a weight is between 1 and 100, not {weight}");
        self.contract.weight = weight;
        self
    }

    /// What the weight is multiplied with.
    #[must_use]
    pub const fn coefficient(mut self, factor: f64) -> Self {
        self.contract.coefficient = factor;
        self
    }

    /// What a call wants to itself.
    #[must_use]
    pub const fn exclusive(mut self, exclusive: Exclusive) -> Self {
        self.contract.exclusive = Some(exclusive);
        self
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Function").field(&self.contract).finish()
    }
}

impl Input {
    pub(crate) fn of(run: Run) -> Self {
        Self { encoding: run.encoding, shape: run.shape, payload: run.payload }
    }

    pub(crate) fn into_parts(self) -> (Encoding, ganger_protocol::message::Shape, Bytes) {
        (self.encoding, self.shape, self.payload)
    }

    pub(crate) fn decode<I: DeserializeOwned + 'static>(self) -> Result<I, Outcome> {
        decode_input(self.encoding, self.shape, &self.payload).map_err(Outcome::Failed)
    }
}

impl Declaration {
    fn streaming(mut self) -> Self {
        self.contract.kind = FunctionKind::Stream;
        self
    }

    pub(crate) fn function(self, body: Body) -> Function {
        Function { contract: self.contract, state: self.state, body }
    }
}

pub(crate) fn declared<H: Handler<M>, M>(name: impl Into<String>) -> Declaration {
    let mut declaration = Declaration { contract: Contract::new(name), state: None };
    H::declare(&mut declaration);
    declaration
}

pub(crate) fn outcome<N>(output: impl Output<N>) -> Outcome {
    match output.into_result() {
        Ok(value) => match encode_output(&value) {
            Ok((encoding, payload)) => Outcome::Result(encoding, payload),
            Err(report) => Outcome::Failed(report),
        },
        Err((error, type_name)) => outcome_of(&error, type_name),
    }
}

fn send_all<L, N, T: Output<N>>(items: impl Items<L, Item = T>, context: &Context) -> Outcome {
    let items = match items.into_items() {
        Ok(items) => items,
        Err((error, type_name)) => return outcome_of(&error, type_name),
    };
    for item in items {
        if context.is_cancelled() {
            return Outcome::Cancelled;
        }
        match outcome(item) {
            Outcome::Result(encoding, payload) => {
                if let Err(end) = context.engine.send_item(context, encoding, &payload) {
                    return end;
                }
            }
            end @ (Outcome::Failed(_) | Outcome::Cancelled) => return end,
        }
    }
    outcome(())
}

#[cfg(feature = "async")]
async fn send_all_async<N, T: Output<N>>(
    items: impl futures_core::Stream<Item = T>,
    context: Context,
) -> Outcome {
    let mut items = std::pin::pin!(items);
    while let Some(item) = std::future::poll_fn(|waker| items.as_mut().poll_next(waker)).await {
        match outcome(item) {
            Outcome::Result(encoding, payload) => {
                if let Err(end) = context.engine.send_item_async(&context, encoding, &payload).await {
                    return end;
                }
            }
            end @ (Outcome::Failed(_) | Outcome::Cancelled) => return end,
        }
    }
    outcome(())
}
