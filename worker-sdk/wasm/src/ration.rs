//! What an instance may use, and how it is kept to it: memory, tables and the time to load.

use std::time::Duration;

/// What every instance of a module may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of its memory and its tables together.
    pub(crate) memory: usize,
    /// Each call has an instance of its own.
    pub(crate) fresh: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 128 << 20, fresh: false }
    }
}

/// The largest module, in bytes.
pub(crate) const MAX_MODULE_LENGTH: u64 = 64 << 20;

/// The longest contract, in bytes.
pub(crate) const MAX_CONTRACT_LENGTH: usize = 4 << 20;

/// How long a module may take to be instantiated and to give its contract.
pub(crate) const START_TIME: Duration = Duration::from_secs(5);

/// What an entry of a table costs.
const TABLE_ENTRY: usize = 16;

/// What one instance has taken of what it may have.
#[derive(Debug)]
pub(crate) struct Ration {
    pub(crate) limit: usize,
    taken: usize,
    /// It asked for more than there was.
    pub(crate) refused: bool,
}

impl Ration {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, taken: 0, refused: false }
    }

    /// Whether a memory may grow from so many bytes to so many.
    pub(crate) fn memory(&mut self, current: usize, desired: usize) -> bool {
        self.take(desired.saturating_sub(current))
    }

    /// Whether a table may grow from so many entries to so many.
    pub(crate) fn table(&mut self, current: usize, desired: usize) -> bool {
        self.take(desired.saturating_sub(current).saturating_mul(TABLE_ENTRY))
    }

    fn take(&mut self, bytes: usize) -> bool {
        let taken = self.taken.checked_add(bytes).filter(|taken| *taken <= self.limit);
        self.taken = taken.unwrap_or(self.taken);
        self.refused |= taken.is_none();
        taken.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_tables_share_one_limit() {
        let mut ration = Ration::new(1000);
        assert!(ration.memory(0, 500) && ration.table(0, 31));
        assert!(!ration.refused && !ration.memory(500, 505));
        assert!(ration.refused && ration.memory(500, 504), "what fits is given, even after a refusal");
        assert!(!ration.table(31, usize::MAX));
    }
}
