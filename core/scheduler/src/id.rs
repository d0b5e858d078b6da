//! Who is meant: newtypes, so that a call never stands where a worker should.

use std::fmt;

/// One call. Numbers rise in the order of submission and are never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub u64);

/// One worker process. The `index` is its seat in the pool, stable over replacement; the `generation` tells its successive
/// holders apart, so that news of a former holder matches nobody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId {
    /// The seat, from 0.
    pub index: u32,
    /// The holder of the seat, from 0.
    pub generation: u32,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}
