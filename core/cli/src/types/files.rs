//! Files that are written, or compared with those that are there.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// A file as it should be.
#[derive(Debug)]
pub(super) struct GeneratedFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl GeneratedFile {
    /// Writes it, unless it is so already.
    pub(super) fn write(&self) -> io::Result<()> {
        if self.is_there()? {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.path, &self.text)
    }

    /// Whether it is as it should be; else what differs is told.
    pub(super) fn compare(&self, out: &mut impl Write) -> io::Result<bool> {
        if self.is_there()? {
            return Ok(true);
        }
        let old = fs::read_to_string(&self.path).unwrap_or_default();
        writeln!(out, "--- {0}\n+++ {0} as the worker has it", self.path.display())?;
        out.write_all(difference(&old, &self.text).as_bytes())?;
        Ok(false)
    }

    fn is_there(&self) -> io::Result<bool> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(bytes == self.text.as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What lies between the first and the last line that differ.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let before = old.iter().zip(&new).take_while(same).count();
    let left = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(left).take_while(same).count();
    let marked = |mark: char, lines: &[&str]| {
        let lines = &lines[before..lines.len() - after];
        lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>()
    };
    format!("@@ line {} @@\n{}{}", before + 1, marked('-', &old), marked('+', &new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "@@ line 2 @@\n-b\n+x\n+y\n");
        assert_eq!(difference("", "a\n"), "@@ line 1 @@\n+a\n");
        assert_eq!(difference("a\na\n", "a\n"), "@@ line 2 @@\n-a\n");
    }
}
