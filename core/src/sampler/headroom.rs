//! How much memory is left for more workers, by the host and by the control group.

use std::fs::read_to_string;
use std::path::PathBuf;

/// Bytes that may still be taken; none where the system does not tell.
pub(crate) fn headroom() -> Option<u64> {
    match (available(), left_in_group()) {
        (Some(host), Some(group)) => Some(host.min(group)),
        (one, other) => one.or(other),
    }
}

fn available() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kilobytes.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Of the second kind of control groups, which alone count a whole tree.
fn left_in_group() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let directory = PathBuf::from("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    let number = |name: &str| read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}
