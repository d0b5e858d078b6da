//! How many CPUs this process may use: the default number of workers.

use std::num::NonZeroU32;

/// CPUs that this process may use, by its affinity and its cgroup's quota; 1 where the system does not say.
pub fn usable_cpus() -> NonZeroU32 {
    std::thread::available_parallelism()
        .ok()
        .and_then(|cpus| u32::try_from(cpus.get()).ok())
        .and_then(NonZeroU32::new)
        .unwrap_or(NonZeroU32::MIN)
}
