//! What a reaper knows of, kept from the lines it is told: process groups, and the files of endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Learns from bytes that may be cut anywhere. A line is `+PGID` or `+DEVICE:INODE/PATH`, with `-` to take it back; anything
/// else is passed over.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    groups: BTreeSet<i32>,
    files: BTreeMap<PathBuf, Identity>,
    line: Vec<u8>,
}

/// Tells a file from another that has its path later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Ledger {
    /// Takes the next bytes. A line counts once its end has come: half a number would name a stranger.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.take_line();
            } else if self.line.len() <= LONGEST_LINE {
                // One byte too many is kept as the sign of a line that means nothing.
                self.line.push(byte);
            }
        }
    }

    /// The groups added and not taken away again.
    pub(crate) fn groups(&self) -> impl Iterator<Item = i32> {
        self.groups.iter().copied()
    }

    /// The files added and not taken away again, what lies in a directory before the directory.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, Identity)> {
        self.files.iter().rev().map(|(path, &identity)| (path.as_path(), identity))
    }

    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Some((sign, told)) = line.split_first().filter(|_| line.len() <= LONGEST_LINE) else { return };
        match (sign, group(told), file(told)) {
            (b'+', Some(group), _) => drop(self.groups.insert(group)),
            (b'-', Some(group), _) => drop(self.groups.remove(&group)),
            (b'+', None, Some((path, identity))) => drop(self.files.insert(path, identity)),
            (b'-', None, Some((path, _))) => drop(self.files.remove(&path)),
            _ => {}
        }
    }
}

/// 0 and 1 are never a worker's group: to kill them is to kill oneself or everything.
fn group(told: &[u8]) -> Option<i32> {
    let number = number(told)?;
    i32::try_from(number).ok().filter(|&group| group > 1)
}

fn file(told: &[u8]) -> Option<(PathBuf, Identity)> {
    let (numbers, path) = told.split_at(told.iter().position(|&byte| byte == b'/')?);
    let (device, inode) = numbers.split_at(numbers.iter().position(|&byte| byte == b':')?);
    let identity = Identity { device: number(device)?, inode: number(&inode[1..])? };
    Some((PathBuf::from(OsStr::from_bytes(path)), identity))
}

fn number(digits: &[u8]) -> Option<u64> {
    let digits =
        std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

/// A sign, two numbers and the longest path that a socket can have.
const LONGEST_LINE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn known(pieces: &[&[u8]]) -> Vec<i32> {
        let mut ledger = Ledger::default();
        pieces.iter().for_each(|piece| ledger.feed(piece));
        ledger.groups().collect()
    }

    #[test]
    fn adds_and_takes_away() {
        assert_eq!(known(&[b"+10\n+20\n-10\n+30\n-99\n"]), [20, 30]);
    }

    #[test]
    fn lines_may_be_cut_anywhere() {
        assert_eq!(known(&[b"+1", b"2", b"34", b"\n+5", b"6\n-", b"56\n"]), [1234]);
    }

    #[test]
    fn an_unfinished_line_names_nobody() {
        assert_eq!(known(&[b"+10\n+12345"]), [10]);
    }

    #[test]
    fn garbage_is_passed_over() {
        assert_eq!(known(&[b"\n\n+\n-\n+x\n+ 5\n+-5\n+0\n+1\n-1\n+99999999999\nhello\n\xff\xfe\n+7\n"]), [7]);
        let long = vec![b'9'; 100_000];
        assert_eq!(known(&[b"+", &long, b"\n+8\n"]), [8]);
        assert_eq!(known(&[b"+2147483647\n+2147483648\n"]), [i32::MAX]);
    }

    fn files(pieces: &[&[u8]]) -> Vec<(String, u64, u64)> {
        let mut ledger = Ledger::default();
        pieces.iter().for_each(|piece| ledger.feed(piece));
        let told = |(path, id): (&Path, Identity)| (path.display().to_string(), id.device, id.inode);
        ledger.files().map(told).collect()
    }

    #[test]
    fn files_come_before_the_directories_they_lie_in() {
        let told = files(&[b"+1:20/tmp/a\n+1:21/tmp/a/b", b" c\n+1:22/tmp/gone\n+9\n-1:22/tmp/gone\n"]);
        assert_eq!(told, [("/tmp/a/b c".into(), 1, 21), ("/tmp/a".into(), 1, 20)]);
    }

    #[test]
    fn files_without_an_identity_are_passed_over() {
        assert_eq!(files(&[b"+/tmp/a\n+:/tmp/a\n+1:/tmp/a\n+:1/tmp/a\n+1:x/tmp/a\n+1:1tmp\n+1:1/cut"]), []);
    }
}
