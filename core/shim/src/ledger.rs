//! The process groups that a reaper knows of, kept from the lines it is told.

use std::collections::BTreeSet;

/// Learns groups from bytes that may be cut anywhere. A line is `+PGID` or `-PGID`; anything else is passed over.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    groups: BTreeSet<i32>,
    line: Vec<u8>,
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

    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        match (line.first(), group(&line)) {
            (Some(b'+'), Some(group)) => {
                self.groups.insert(group);
            }
            (Some(b'-'), Some(group)) => {
                self.groups.remove(&group);
            }
            _ => {}
        }
    }
}

/// The number after the sign. 0 and 1 are never a worker's group: to kill them is to kill oneself or everything.
fn group(line: &[u8]) -> Option<i32> {
    let digits = line.get(1..).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let number: i32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (number > 1 && line.len() <= LONGEST_LINE).then_some(number)
}

/// A sign and the ten digits of the largest number.
const LONGEST_LINE: usize = 11;

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
}
