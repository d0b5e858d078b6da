//! Shared memory for large payloads: one arena that the host writes and every worker reads, and one for each worker's results.
//!
//! An arena is a sealed file without a name, mapped once and handed out block by block: a segment for every payload would cost
//! more than sending it through the socket. Blocks that are free again keep their memory for the next payload, within bounds.

mod input;
mod memory;
mod results;

pub(crate) use input::InputArena;
pub use input::{Block, PrivateView, Reservation};
pub(crate) use results::ResultArena;
pub use results::ResultBlock;

/// Of an arena's size, the part (an eighth) of which free blocks keep their memory.
const KEPT_PART: u64 = 8;

/// Payloads from this many bytes on travel in shared memory: below, two copies through the socket cost less than the bookkeeping.
pub const SHARED_MEMORY_THRESHOLD: usize = 128 * 1024;
