//! Write [Ganger](https://docs.rs/ganger) workers in Rust: a program whose functions a pool in Node or Python
//! calls.
//!
//! ```no_run
//! use ganger_worker::{Bytes, Cancelled, Context, Function, Worker};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Price { amount: f64, rate: f64 }
//!
//! #[derive(Serialize)]
//! struct Converted { amount: f64 }
//!
//! fn convert(price: Price) -> Converted {
//!     Converted { amount: price.amount * price.rate }
//! }
//!
//! fn count_zeros(data: Bytes, context: Context) -> Result<usize, Cancelled> {
//!     let mut zeros = 0;
//!     for block in data.chunks(1 << 20) {
//!         context.check()?; // ends the call when it was cancelled or took too long
//!         zeros += block.iter().filter(|byte| **byte == 0).count();
//!     }
//!     Ok(zeros)
//! }
//!
//! fn main() {
//!     Worker::new()
//!         .startup(|start| start.log().info("up"))
//!         .function("convert", convert)
//!         .stream("count", |to: u64| 0..to)
//!         .offer(Function::new("count_zeros", count_zeros).idempotent(true).summary("Counts zero bytes"))
//!         .run()
//! }
//! ```
//!
//! In Python: `Pool(command=["target/release/prices"]).call("convert", {"amount": 3, "rate": 1.1})`.
//!
//! - An input is anything that serde reads, a result anything that it writes; [`Bytes`] cross as they are,
//!   without a copy. Integers have 64 bits: of wider types those that fit.
//! - A function may return a `Result` with any error. The caller sees its type, text and causes; a
//!   [`Failure`] has properties as well. A panic
//!   fails its call, not the worker.
//! - A function answers with many values by returning an iterator or a `Result` of one ([`Worker::stream`]), or by
//!   taking a [`Sender`]; one that takes [`Inputs`] reads a stream while it runs. Whoever is slow holds the other side
//!   back; a function whose reader leaves is cancelled.
//! - A function of batches ([`Worker::batch`]) takes the inputs of several calls at once; each call ends for itself.
//! - Functions run side by side, each on a thread, as many as the pool's `concurrency` says. With the feature
//!   `async` there are asynchronous ones,
//!   on a tokio runtime.
//! - What they share is loaded once and is their [`State`]. Functions and state are `Send + Sync`, which the
//!   compiler checks:
//!
//!   ```compile_fail,E0277
//!   # use ganger_worker::Worker;
//!   let counter = std::rc::Rc::new(std::cell::Cell::new(0));
//!   Worker::new().function("count", move |_: ()| counter.replace(counter.get() + 1));
//!   ```
//! - With the feature `derive` the attribute `action` offers a function, with its documentation as summary. With
//!   `schema` its contract has the JSON Schema of each type that derives `JsonSchema`.
//! - The wire is in [`ganger_protocol`]; its `SPEC.md` is the law.

#![deny(unsafe_code)]

#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod actions;
mod arena;
mod batch;
mod context;
mod engine;
mod error;
mod foreign;
mod function;
mod inbox;
mod integers;
mod items;
mod nearest;
mod payload;
#[cfg(any(feature = "derive", feature = "schema"))]
mod schema;
mod session;
mod state;
mod streams;
mod transport;
mod worker;

pub use batch::Results;
pub use context::{Context, Logger, Place, StartContext};
pub use error::{BoxError, Cancelled, Failure};
pub use foreign::Encoded;
pub use function::{Declaration, Function, Handler, Output};
pub use ganger_protocol::message::{CancelReason, Contract, ErrorReport, Exclusive, Level};
pub use ganger_protocol::{Bytes, Encoding, Value};
#[cfg(feature = "derive")]
/// Makes a function one that [`Worker::actions`] offers.
///
/// ```no_run
/// use ganger_worker::{Cancelled, Context, Sender, State, StreamError, Worker, action};
/// use serde::Deserialize;
///
/// struct Rates { euro: f64 }
///
/// // With the feature `schema` and `use ganger_worker::schemars::{self, JsonSchema}` it derives JsonSchema as well, and
/// // the contract says what it has.
/// #[derive(Deserialize)]
/// struct Price { amount: f64 }
///
/// /// Converts a price.
/// #[action(idempotent, timeout = "5s", weight = 2)]
/// fn convert(price: Price, rates: State<Rates>) -> f64 {
///     price.amount * rates.euro
/// }
///
/// /// Counts, item by item.
/// #[action]
/// fn count(to: u64) -> impl Iterator<Item = u64> {
///     0..to
/// }
///
/// #[action(name = "text.words", summary = "Sends the words of a text")]
/// fn words(text: String, sender: Sender<String>) -> Result<(), StreamError> {
///     text.split(' ').try_for_each(|word| sender.send(&word.to_owned()))
/// }
///
/// fn main() {
///     Worker::new().state(|_| Ok::<_, std::io::Error>(Rates { euro: 1.1 })).actions().run()
/// }
/// ```
///
/// - The parameters are those of a [`Handler`]: an input, and [`Part`]s. A function without parameters takes nil.
/// - `async fn` needs the feature `async`. `impl Iterator` and `impl Stream` make a stream of it; so does `stream`, of
///   a function that returns other [`Items`], such as a `Vec` or a `Result` of an iterator.
/// - The name is the function's own, the summary the first paragraph of its documentation, unless said otherwise.
/// - `idempotent`, `timeout` ("250ms", "5s", "2m"), `slots`, `weight` (1 to 100), `coefficient` and `exclusive`
///   ("worker" or "node") are the promises that [`Function`] has methods for. `batch(32, "10ms")` makes it one that takes
///   the inputs of several calls at once, as [`Function::batch`] does. What makes no sense does not compile:
///
/// ```compile_fail
/// #[ganger_worker::action(timeout = "soon")]
/// fn convert(amount: f64) -> f64 { amount }
/// ```
///
/// What several calls cannot share at once does not compile either:
///
/// ```compile_fail,E0277
/// use ganger_worker::{State, action};
///
/// #[action]
/// fn count(_: (), counter: State<std::cell::Cell<u64>>) -> u64 { counter.get() }
/// ```
pub use ganger_worker_derive::action;
pub use items::Items;
#[cfg(feature = "schema")]
pub use schema::Binary;
#[cfg(feature = "schema")]
pub use schemars;
pub use state::State;
pub use streams::{Inputs, Part, Sender, StreamError};
pub use worker::Worker;
