//! How much memory is left for more workers, by the host and by its control groups.

use std::fs::read_to_string;
use std::path::Path;

use super::groups::{Group, Kind};

/// Bytes that may still be taken; none where the system does not tell.
pub(crate) fn headroom() -> Option<u64> {
    under(Path::new("/"))
}

fn under(root: &Path) -> Option<u64> {
    let groups = Group::all(root);
    groups.iter().filter_map(left_in).chain(available(root)).min()
}

fn available(root: &Path) -> Option<u64> {
    let text = read_to_string(root.join("proc/meminfo")).ok()?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kilobytes.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// None without a limit. Pages of files count for a group, but are given up for whoever needs memory: a container that has read
/// a lot stands at its limit and has room all the same.
fn left_in(group: &Group) -> Option<u64> {
    let (limit, current, prefix) = match group.kind {
        Kind::Newer => ("memory.max", "memory.current", ""),
        Kind::Older => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    };
    let number = |name| read_to_string(group.file(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, current) = (number(limit)?, number(current)?);
    let stat = read_to_string(group.file("memory.stat")).unwrap_or_default();
    let files = stat.lines().filter_map(|line| {
        let (name, bytes) = line.strip_prefix(prefix)?.split_once(' ')?;
        matches!(name, "inactive_file" | "active_file").then(|| bytes.parse::<u64>().ok())?
    });
    Some(limit.saturating_sub(current.saturating_sub(files.sum())))
}

#[cfg(test)]
mod tests {
    use super::super::system_of_files::system;
    use super::*;

    const MEMINFO: &str = "MemTotal:       9000000 kB\nMemFree:  1 kB\nMemAvailable:    5000 kB\n";
    const NO_LIMIT: &str = "9223372036854771712\n";

    #[test]
    fn without_groups_the_machine_decides() {
        assert_eq!(under(system(&[("proc/meminfo", MEMINFO)]).path()), Some(5_000 * 1024));
        assert_eq!(under(system(&[]).path()), None);
    }

    #[test]
    fn the_own_group_leaves_what_its_limit_does_and_files_do_not_count() {
        let root = system(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/app.slice/host\n"),
            ("sys/fs/cgroup/app.slice/host/memory.max", "1000000\n"),
            ("sys/fs/cgroup/app.slice/host/memory.current", "990000\n"),
            (
                "sys/fs/cgroup/app.slice/host/memory.stat",
                "anon 1\nfile 9\ninactive_file 300000\nactive_file 200000\n",
            ),
        ]);
        assert_eq!(under(root.path()), Some(1_000_000 - 490_000));
    }

    #[test]
    fn a_limit_above_the_own_group_holds_too() {
        let root = system(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/pod/container\n"),
            ("sys/fs/cgroup/pod/container/memory.max", "max\n"),
            ("sys/fs/cgroup/pod/container/memory.current", "700\n"),
            ("sys/fs/cgroup/pod/memory.max", "1000\n"),
            ("sys/fs/cgroup/pod/memory.current", "900\n"),
        ]);
        assert_eq!(under(root.path()), Some(100));
    }

    #[test]
    fn the_older_kind_of_groups_counts_too() {
        let root = system(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "9:cpu,cpuacct:/\n4:memory:/box\n0::/\n"),
            ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "900\n"),
            (
                "sys/fs/cgroup/memory/box/memory.stat",
                "inactive_file 1\ntotal_inactive_file 30\ntotal_active_file 20\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", NO_LIMIT),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n"),
        ]);
        assert_eq!(under(root.path()), Some(150));
    }

    #[test]
    fn a_container_that_does_not_see_its_name_has_the_limits_at_the_top() {
        let root = system(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "0::/docker/0123\n"),
            ("sys/fs/cgroup/memory.max", "1000\n"),
            ("sys/fs/cgroup/memory.current", "400\n"),
        ]);
        assert_eq!(under(root.path()), Some(600));
    }
}
