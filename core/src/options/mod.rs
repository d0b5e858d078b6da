//! Options: one table for pools and one for calls. Parsing, defaults, the types of every language and the reference page derive from
//! their rows, so a new option is a new row and a new field.

mod call;
mod close;
mod cpus;
pub mod duration;
mod error;
mod nearest;
mod pool;
mod read;
pub mod size;
mod surface;
mod table;
mod worker;

#[cfg(test)]
mod tests;

pub use call::{CallOptions, Exclusive, Limit, call_options};
pub use close::{CloseOptions, close_options};
pub use cpus::usable_cpus;
pub use error::OptionError;
pub use pool::{Endpoint, PoolOptions, Watch, WhenFull, pool_options};
pub use surface::{Surface, camel};
pub use table::{OptionDefault, OptionKind, OptionRow};
pub use worker::WorkerCommand;

use call::CALL_FIELDS;
use pool::POOL_FIELDS;
