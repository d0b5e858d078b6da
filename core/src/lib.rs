//! Ganger: a supervised pool of worker processes in any language.
//!
//! ```no_run
//! use ganger::options::{PoolOptions, WorkerCommand};
//! use ganger::{Call, Input, Pool};
//!
//! let worker = WorkerCommand::Command { argv: vec!["target/release/hasher".into()] };
//! let pool = Pool::new(PoolOptions::new(worker))?;
//! let reply = pool.call_blocking(Call::new("hash", Input::raw("some bytes")))?;
//! println!("{} bytes", reply.payload.len());
//! pool.close_blocking(None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Theory of operation
//!
//! All decisions are taken by the pure state machine of `ganger-scheduler`, stepped under one mutex by whoever has news
//! (`shared`). Around it lie thin shells: `link` moves frames, `crew` turns processes into workers, `process` is the operating
//! system, `timer` the clock. A call is written to its worker's socket on the caller's own thread; the thread that
//! reads the answer settles it.

#[cfg(not(unix))]
compile_error!("Ganger runs on Unix systems only, so far");

mod arena;
mod call;
mod capture;
#[doc(hidden)]
pub mod codegen;
mod crew;
mod endpoint;
pub mod error;
pub mod events;
pub mod flight;
mod function_info;
mod gathering;
mod home;
mod launch;
mod link;
pub mod options;
mod pool;
mod process;
mod reactor;
mod recorder;
mod runtime;
mod sampler;
mod sampling;
pub mod shape;
mod shared;
pub mod shim;
pub mod stats;
mod stream;
mod timer;
mod watch;

pub use arena::{Block, PrivateView, Reservation, ResultBlock, SHARED_MEMORY_THRESHOLD};
pub use call::{
    Call, Completion, Encoding, Gathered, Input, Outcome, Progress, ProgressObserver, Reply, Shape, Waiter,
};
pub use endpoint::Invitation;
pub use error::Error;
pub use function_info::{BatchInfo, Exclusive, FunctionInfo, FunctionKind};
pub use ganger_protocol::message::Contract;
pub use ganger_scheduler::CallId;
pub use home::set_home;
pub use launch::{Language, set_own_interpreter};
pub use pool::Pool;
pub use reactor::{Cork, LoopSeat, Seat};
pub use shared::WaitId;
pub use stream::{Batch, Inputs, Sent, Stream, Wake};
