//! A control group with little memory, where this system lets us make one.

use std::fs;
use std::path::{Path, PathBuf};

/// Goes when it is dropped; nobody may be in it by then.
pub(crate) struct SmallGroup(PathBuf);

impl SmallGroup {
    /// The error says why it cannot be made. Nothing outside of the new group is changed for it.
    pub(crate) fn new(bytes: u64) -> Result<Self, String> {
        let (parent, files): (&str, [(&str, u64); 2]) = if newer_kind() {
            ("/sys/fs/cgroup", [("memory.max", bytes), ("memory.swap.max", 0)])
        } else {
            (
                "/sys/fs/cgroup/memory",
                [("memory.limit_in_bytes", bytes), ("memory.memsw.limit_in_bytes", bytes)],
            )
        };
        let group = Self(Path::new(parent).join(format!("ganger-test-{}", std::process::id())));
        fs::create_dir(&group.0).map_err(|error| format!("{}: {error}", group.0.display()))?;
        for (place, (file, amount)) in files.into_iter().enumerate() {
            let written = fs::write(group.0.join(file), amount.to_string());
            // Without swap there is no file for it.
            if place == 0 {
                written.map_err(|error| format!("{file}: {error}"))?;
            }
        }
        Ok(group)
    }

    /// The file that takes the process ids of those who join.
    pub(crate) fn members(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        // The last member may still be on its way out.
        super::until("the group is empty", || match fs::remove_dir(&self.0) {
            Ok(()) => true,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        });
    }
}

fn newer_kind() -> bool {
    let controllers = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
    controllers.split_whitespace().any(|controller| controller == "memory")
}
