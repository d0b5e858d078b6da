//! The functions that have the attribute `action`: what it expands to finds their types here and registers
//! them, and [`Worker::actions`] offers them all.

use std::any::TypeId;
use std::marker::PhantomData;

use ganger_protocol::{Bytes, Value};
pub use inventory::submit;

use crate::batch::Results;
use crate::function::{Function, Handler, Output};
use crate::items::Items;
use crate::schema::bytes_schema;
use crate::streams::Part;
#[cfg(feature = "schema")]
use crate::streams::{Inputs, Sender};
use crate::worker::Worker;

/// A function with the attribute.
#[derive(Debug)]
pub struct Action {
    /// Makes what a worker offers.
    pub function: fn() -> Function,
}

inventory::collect!(Action);

impl Worker {
    /// Offers every function of the program that has the attribute [`action`](macro@crate::action), in the order
    /// of their names.
    ///
    /// # Panics
    /// If two functions have the same name.
    pub fn actions(self) -> Self {
        let mut functions: Vec<_> = inventory::iter::<Action>().map(|action| (action.function)()).collect();
        functions.sort_by(|one, other| one.contract.name.cmp(&other.contract.name));
        functions.into_iter().fold(self, Self::offer)
    }
}

/// A type of which it is asked whether it has a schema. The compiler takes [`Described`] or [`DescribedPart`] if it
/// can, and else the other trait of the pair, whose impl is a reference further. So a function may take and give
/// types without a schema: nothing is said of them.
#[derive(Debug)]
pub struct Asked<T>(PhantomData<fn() -> T>);

/// The schemas of what a function takes and gives.
#[derive(Debug)]
pub struct Types {
    /// Of its input.
    pub input: Option<Value>,
    /// Of its result, or of an item.
    pub output: Option<Value>,
}

/// The schema of a stream that is a parameter.
#[derive(Debug)]
pub enum PartSchema {
    /// Of an item that is read.
    Read(Value),
    /// Of an item that is sent.
    Sent(Value),
    /// It is no stream, or its items have no schema.
    Unknown,
}

/// A type with a schema.
pub trait Described {
    /// As it is read.
    fn read_schema(&self) -> Option<Value>;
    /// As it is written.
    fn written_schema(&self) -> Option<Value>;
}

/// Any other type.
pub trait Undescribed {
    /// As it is read.
    fn read_schema(&self) -> Option<Value>;
    /// As it is written.
    fn written_schema(&self) -> Option<Value>;
}

/// A stream whose items have a schema.
pub trait DescribedPart {
    /// The schema.
    fn part_schema(&self) -> PartSchema;
}

/// Anything else that a function takes beside its input.
pub trait UndescribedPart {
    /// No schema.
    fn part_schema(&self) -> PartSchema {
        PartSchema::Unknown
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Described for Asked<T> {
    fn read_schema(&self) -> Option<Value> {
        Some(crate::schema::schema_of::<T>(schemars::generate::Contract::Deserialize))
    }

    fn written_schema(&self) -> Option<Value> {
        Some(crate::schema::schema_of::<T>(schemars::generate::Contract::Serialize))
    }
}

impl<T: 'static> Undescribed for &Asked<T> {
    fn read_schema(&self) -> Option<Value> {
        (TypeId::of::<T>() == TypeId::of::<Bytes>()).then(bytes_schema)
    }

    fn written_schema(&self) -> Option<Value> {
        self.read_schema()
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> DescribedPart for Asked<Inputs<T>> {
    fn part_schema(&self) -> PartSchema {
        PartSchema::Read(crate::schema::schema_of::<T>(schemars::generate::Contract::Deserialize))
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> DescribedPart for Asked<Sender<T>> {
    fn part_schema(&self) -> PartSchema {
        PartSchema::Sent(crate::schema::schema_of::<T>(schemars::generate::Contract::Serialize))
    }
}

impl<T> UndescribedPart for &Asked<T> {}

impl Function {
    #[doc(hidden)]
    #[must_use]
    pub fn described(mut self, types: Types) -> Self {
        self.contract.input = types.input;
        self.contract.output = types.output;
        self
    }

    #[doc(hidden)]
    #[must_use]
    pub fn with_part(mut self, schema: PartSchema) -> Self {
        match schema {
            PartSchema::Read(schema) => self.contract.inputs = Some(schema),
            PartSchema::Sent(schema) => self.contract.output = Some(schema),
            PartSchema::Unknown => {}
        }
        self
    }
}

/// The input of a function.
pub fn input<H: Handler<M>, M>(_: H) -> Asked<H::Input> {
    Asked(PhantomData)
}

/// The input of one call of a function that takes those of several.
pub fn each_input<H: Handler<M, Input = Vec<I>>, M, I>(_: H) -> Asked<I> {
    Asked(PhantomData)
}

/// The result of one call of such a function.
pub fn each_result<H, M, N, T>(_: H) -> Asked<T::Value>
where
    H: Handler<M, Output: Results<Item = T>>,
    T: Output<N>,
{
    Asked(PhantomData)
}

/// The same of an asynchronous one.
#[cfg(feature = "async")]
pub fn each_future_result<H, M, N, T>(_: H) -> Asked<T::Value>
where
    H: Handler<M, Output: Future<Output: Results<Item = T>>>,
    T: Output<N>,
{
    Asked(PhantomData)
}

/// The result of a function.
pub fn value<H, M, N>(_: H) -> Asked<<H::Output as Output<N>>::Value>
where
    H: Handler<M, Output: Output<N>>,
{
    Asked(PhantomData)
}

/// The items of a function that gives many.
pub fn items<H, M, N, L, T>(_: H) -> Asked<T::Value>
where
    H: Handler<M, Output: Items<L, Item = T>>,
    T: Output<N>,
{
    Asked(PhantomData)
}

/// The result of an asynchronous function.
#[cfg(feature = "async")]
pub fn future<H, M, N, T>(_: H) -> Asked<T::Value>
where
    H: Handler<M, Output: Future<Output = T>>,
    T: Output<N>,
{
    Asked(PhantomData)
}

/// The items of an asynchronous stream.
#[cfg(feature = "async")]
pub fn async_items<H, M, N, T>(_: H) -> Asked<T::Value>
where
    H: Handler<M, Output: futures_core::Stream<Item = T>>,
    T: Output<N>,
{
    Asked(PhantomData)
}

/// Something that a function takes beside its input.
#[must_use]
pub const fn part<P: Part>() -> Asked<P> {
    Asked(PhantomData)
}
