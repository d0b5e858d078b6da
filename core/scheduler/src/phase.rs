//! The life of a pool.

/// Where a pool is in its life. It only moves down this list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PoolPhase {
    /// Takes calls.
    Running,
    /// Takes no calls; finishes what it has.
    Draining,
    /// Has settled every call; its workers are going.
    Ending,
    /// Has no worker left.
    Closed,
}

impl PoolPhase {
    /// Whether new calls are taken.
    pub fn accepts_calls(self) -> bool {
        self == Self::Running
    }
}
