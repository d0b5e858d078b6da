//! The control groups that count the host's memory.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// One control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) kind: Kind,
    folder: PathBuf,
}

/// What a group's files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The unified hierarchy of cgroup v2.
    Newer,
    /// The hierarchy of v1's memory controller.
    Older,
}

impl Group {
    /// The host's own group of each kind, the newer kind first.
    pub(super) fn own(root: &Path) -> Vec<Group> {
        Self::lines(root).into_iter().filter_map(|line| line.into_iter().next()).collect()
    }

    /// The host's own group and every one above it, whose limits hold as well. A container may not see its own by the name that the
    /// system gives it: then it is what stands at the top.
    #[cfg(all(target_os = "linux", feature = "linux-extras"))]
    pub(super) fn all(root: &Path) -> Vec<Group> {
        Self::lines(root).into_iter().flatten().collect()
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// For each kind from the own group upwards.
    fn lines(root: &Path) -> Vec<Vec<Group>> {
        let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let line = |kind: Kind, controller: &str, mount: &str| {
            let mut lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
            let path = lines.find(|(listed, _)| listed.split(',').any(|one| one == controller))?.1;
            let top = root.join(mount);
            let own = top.join(path.trim_start_matches('/'));
            let folders = own.ancestors().take_while(|folder| folder.starts_with(&top));
            Some(folders.map(|folder| Group { kind, folder: folder.to_path_buf() }).collect())
        };
        let newer = line(Kind::Newer, "", "sys/fs/cgroup");
        let older = line(Kind::Older, "memory", "sys/fs/cgroup/memory");
        [newer, older].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::system_of_files::system;
    use super::*;

    #[test]
    fn the_own_group_comes_first_and_all_above_it_follow() {
        let root = system(&[("proc/self/cgroup", "4:cpu,memory:/box\n1:name=systemd:/other\n0::/a/b\n")]);
        let folders = |groups: Vec<Group>| {
            let below = |group: Group| group.folder.strip_prefix(root.path()).unwrap().display().to_string();
            groups.into_iter().map(below).collect::<Vec<_>>()
        };
        let (newer, older) = (["/a/b", "/a", ""], ["/memory/box", "/memory"]);
        let named =
            |tails: &[&str]| tails.iter().map(|tail| format!("sys/fs/cgroup{tail}")).collect::<Vec<_>>();
        assert_eq!(folders(Group::lines(root.path()).concat()), [named(&newer), named(&older)].concat());
        assert_eq!(folders(Group::own(root.path())), named(&["/a/b", "/memory/box"]));
        assert_eq!(Group::own(system(&[]).path()), []);
    }
}
