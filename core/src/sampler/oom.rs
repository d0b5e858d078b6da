//! Whether the system has killed processes because memory had run out: as the host's control group counts it, else as the
//! whole system does.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use super::groups::{Group, Kind};

/// What had been killed at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OomKills {
    counter: Counter,
    count: u64,
}

/// A file with a line `NAME COUNT`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counter {
    file: PathBuf,
    name: &'static str,
}

impl OomKills {
    /// None where the system does not tell.
    pub(crate) fn now() -> Option<OomKills> {
        if cfg!(all(target_os = "linux", feature = "linux-extras")) {
            Self::under(Path::new("/"))
        } else {
            None
        }
    }

    /// Whether more have been killed since.
    pub(crate) fn have_risen(&self) -> bool {
        self.counter.read().is_some_and(|count| count > self.count)
    }

    /// A group counts what was killed in it, for its own limit or because the machine had no more; the system's count would take
    /// another container's misfortune for ours.
    fn under(root: &Path) -> Option<OomKills> {
        let everywhere = Counter { file: root.join("proc/vmstat"), name: "oom_kill" };
        group_counters(root).into_iter().chain([everywhere]).find_map(|counter| {
            let count = counter.read()?;
            Some(OomKills { counter, count })
        })
    }
}

impl Counter {
    fn read(&self) -> Option<u64> {
        let text = read_to_string(&self.file).ok()?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == self.name)?.1.trim().parse().ok()
    }
}

/// Where the groups of both kinds count, the newer kind first. The root of either counts nothing.
fn group_counters(root: &Path) -> Vec<Counter> {
    let file = |group: &Group| match group.kind {
        Kind::Newer => group.file("memory.events"),
        Kind::Older => group.file("memory.oom_control"),
    };
    Group::own(root).iter().map(|group| Counter { file: file(group), name: "oom_kill" }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::system_of_files::{system, write};
    use super::*;

    fn events(kills: u64) -> String {
        format!("low 0\nhigh 0\nmax 7\noom 9\noom_kill {kills}\noom_group_kill 0\n")
    }

    const VMSTAT: &str = "nr_free_pages 1\noom_kill 5\noom_kill_other 6\n";

    #[test]
    fn a_rise_in_the_own_group_is_seen_and_one_elsewhere_is_not() {
        let root = system(&[("proc/self/cgroup", "0::/app.slice/host\n"), ("proc/vmstat", VMSTAT)]);
        let group = "sys/fs/cgroup/app.slice/host/memory.events";
        write(root.path(), group, &events(2));
        let before = OomKills::under(root.path()).unwrap();
        assert_eq!(before.count, 2);
        write(root.path(), "proc/vmstat", "oom_kill 6\n");
        assert!(!before.have_risen(), "another group's misfortune");
        write(root.path(), group, &events(3));
        assert!(before.have_risen());
    }

    #[test]
    fn the_older_kind_of_groups_counts_too() {
        let groups = "9:cpu,cpuacct:/\n4:memory:/box\n0::/\n";
        let root = system(&[
            ("proc/self/cgroup", groups),
            ("sys/fs/cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"),
            ("proc/vmstat", VMSTAT),
        ]);
        assert_eq!(OomKills::under(root.path()).unwrap().count, 4);
    }

    #[test]
    fn without_a_group_that_counts_the_whole_system_does() {
        let root = system(&[("proc/self/cgroup", "0::/\n"), ("proc/vmstat", VMSTAT)]);
        let before = OomKills::under(root.path()).unwrap();
        assert_eq!(before.count, 5);
        write(root.path(), "proc/vmstat", "oom_kill 6\n");
        assert!(before.have_risen());
        assert_eq!(OomKills::under(system(&[]).path()), None);
    }

    #[test]
    fn a_count_that_is_gone_has_not_risen() {
        let root = system(&[("proc/vmstat", VMSTAT)]);
        let before = OomKills::under(root.path()).unwrap();
        fs::remove_file(root.path().join("proc/vmstat")).unwrap();
        assert!(!before.have_risen());
    }
}
