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
//!         .offer(Function::new("count_zeros", count_zeros).idempotent().summary("Counts zero bytes"))
//!         .run()
//! }
//! ```
//!
//! In Python: `Pool(command=["target/release/prices"]).call("convert", {"amount": 3, "rate": 1.1})`.
//!
//! - An input is anything that serde reads, a result anything that it writes; [`Bytes`] cross as they are,
//!   without a copy.
//! - A function may return a `Result` with any error. The caller sees its type, text and causes; a
//!   [`Failure`] has properties as well. A panic
//!   fails its call, not the worker.
//! - A function answers with many values by returning an iterator ([`Worker::stream`]), or by taking a
//!   [`Sender`]; one that takes [`Inputs`] reads a stream while it runs. Whoever is slow holds the other side
//!   back; a function whose reader leaves is cancelled.
//! - Functions run side by side, each on a thread, as many as the pool's `concurrency` says. With the feature
//!   `async` there are asynchronous ones,
//!   on a tokio runtime.
//! - The wire is in [`ganger_protocol`]; its `SPEC.md` is the law.

#![deny(unsafe_code)]

mod arena;
mod context;
mod engine;
mod error;
mod foreign;
mod function;
mod inbox;
mod nearest;
mod payload;
mod session;
mod streams;
mod transport;
mod worker;

pub use context::{Context, Logger, Place, StartContext};
pub use error::{BoxError, Cancelled, Failure};
pub use foreign::Encoded;
pub use function::{Function, Handler, Output};
pub use ganger_protocol::message::{CancelReason, Contract, ErrorReport, Exclusive, Level};
pub use ganger_protocol::{Bytes, Encoding, Value};
pub use streams::{Inputs, Part, Sender, StreamError};
pub use worker::Worker;
