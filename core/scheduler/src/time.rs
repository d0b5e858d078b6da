//! Moments as the shell tells them.

use std::time::Duration;

/// A moment: nanoseconds since the shell's own beginning. Never read from a clock in here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// The moment that lies `elapsed` after the beginning.
    pub fn from_elapsed(elapsed: Duration) -> Self {
        Self(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long after the beginning this is.
    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// This moment and a span; a span beyond all reckoning gives the last moment there is.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The span from `earlier` to this moment, zero if it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}
