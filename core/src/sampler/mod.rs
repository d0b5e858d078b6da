//! How much memory a worker and whatever it started have now.

mod groups;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod headroom;
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
mod linux;
mod oom;
mod portable;
mod tree;

#[cfg(test)]
mod system_of_files;
#[cfg(test)]
mod tests;

#[cfg(all(target_os = "linux", feature = "linux-extras"))]
pub(crate) use headroom::headroom;
pub(crate) use oom::OomKills;
#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
pub(crate) use portable::headroom;

/// Reads memory from the operating system. It may take a millisecond or more: not for the runtime's thread.
pub(crate) trait Sampler: Send {
    /// For each worker the memory of its whole process tree; None if it has ended or the system does not tell.
    fn sample(&mut self, pids: &[u32]) -> Vec<Option<Memory>>;

    /// The private bytes of one worker's tree with every page that several processes have counted once, which `sample`
    /// cannot see. Costs a millisecond a process and holds the process up meanwhile: only before a worker of several
    /// processes is replaced. None where the system does not tell.
    fn confirm(&mut self, pid: u32) -> Option<u64>;
}

/// Current, never a peak.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Memory {
    /// In physical memory, shared or not, summed over the tree.
    pub(crate) resident_bytes: u64,
    /// The part of it that others may have too: files, arenas. 0 where the system does not tell.
    pub(crate) shared_bytes: u64,
    /// How many processes the tree has.
    pub(crate) processes: usize,
    /// In physical memory, of the worker's own process.
    pub(crate) own_resident_bytes: u64,
    /// What a hard limit counts of the worker's own process, touched or not.
    pub(crate) own_limited_bytes: u64,
}

impl Memory {
    /// What limits are compared with.
    pub(crate) fn private_bytes(self) -> u64 {
        self.resident_bytes.saturating_sub(self.shared_bytes)
    }
}

/// The best sampler of this system.
#[cfg(all(target_os = "linux", feature = "linux-extras"))]
pub(crate) fn for_this_system() -> Box<dyn Sampler> {
    Box::new(linux::ProcSampler::new())
}

/// The best sampler of this system.
#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
pub(crate) fn for_this_system() -> Box<dyn Sampler> {
    Box::new(portable::SysinfoSampler::new())
}
