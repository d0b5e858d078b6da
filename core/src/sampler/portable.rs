//! Memory through `sysinfo`, wherever that works. It knows resident memory only, so shared pages count.

use std::collections::HashMap;

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::{Memory, Sampler, tree};

/// Looks at every process of the machine to find the children of a few.
pub(super) struct SysinfoSampler {
    /// None where `sysinfo` does not work.
    system: Option<System>,
}

impl SysinfoSampler {
    #[cfg_attr(
        all(target_os = "linux", feature = "linux-extras", not(test)),
        expect(dead_code, reason = "Linux has a faster one")
    )]
    pub(super) fn new() -> SysinfoSampler {
        SysinfoSampler { system: System::new().ok() }
    }
}

/// Bytes that more workers may take; none where the system does not tell.
#[cfg(not(all(target_os = "linux", feature = "linux-extras")))]
pub(crate) fn headroom() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    Some(system.available_memory()).filter(|bytes| *bytes > 0)
}

impl Sampler for SysinfoSampler {
    fn sample(&mut self, pids: &[u32]) -> Vec<Option<Memory>> {
        let Some(system) = &mut self.system else { return vec![None; pids.len()] };
        let memory_only = ProcessRefreshKind::nothing().with_memory().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, memory_only);
        let children = children_by_parent(system);
        pids.iter().map(|pid| memory_of(system, &children, *pid)).collect()
    }

    fn confirm(&mut self, _pid: u32) -> Option<u64> {
        None
    }
}

fn children_by_parent(system: &System) -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, process) in system.processes() {
        if let Some(parent) = process.parent() {
            children.entry(parent.as_u32()).or_default().push(pid.as_u32());
        }
    }
    children
}

fn memory_of(system: &System, children: &HashMap<u32, Vec<u32>>, root: u32) -> Option<Memory> {
    system.process(Pid::from_u32(root))?;
    let mut memory = Memory::default();
    for pid in tree::descend(root, |parent| children.get(&parent).cloned().unwrap_or_default()) {
        if let Some(process) = system.process(Pid::from_u32(pid)) {
            memory.resident_bytes += process.memory();
            memory.processes += 1;
            if pid == root {
                // The nearest to what a limit counts that is known everywhere.
                memory.own_resident_bytes = process.memory();
                memory.own_limited_bytes = process.memory();
            }
        }
    }
    Some(memory)
}
