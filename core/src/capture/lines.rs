//! Cuts what a worker prints into lines, and keeps the end of it. Neither ever grows beyond its bound.

use std::collections::VecDeque;

/// A line that a worker printed, without its end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Line {
    /// Bytes that are no UTF-8 have become U+FFFD.
    pub(crate) text: String,
    /// How many bytes were left out because the line is longer than [`LONGEST_LINE_BYTES`]; usually 0.
    pub(crate) cut_bytes: u64,
}

/// A longer line loses its end.
pub(super) const LONGEST_LINE_BYTES: usize = 64 * 1024;

/// Bytes in, lines out.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    begun: Vec<u8>,
    cut_bytes: u64,
}

impl LineSplitter {
    /// Takes the next bytes, wherever they were cut, and passes on each line that they finish.
    pub(super) fn feed(&mut self, mut bytes: &[u8], on_line: &mut impl FnMut(Line)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            self.end_line(on_line);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Passes on what came after the last line's end, if anything.
    pub(super) fn finish(&mut self, on_line: &mut impl FnMut(Line)) {
        if !self.begun.is_empty() {
            self.end_line(on_line);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE_BYTES - self.begun.len();
        let (kept, cut) = bytes.split_at(room.min(bytes.len()));
        self.begun.extend_from_slice(kept);
        self.cut_bytes += cut.len() as u64;
    }

    fn end_line(&mut self, on_line: &mut impl FnMut(Line)) {
        let cut_bytes = std::mem::take(&mut self.cut_bytes);
        let whole = if cut_bytes > 0 { whole_characters(&self.begun) } else { self.begun.len() };
        let bytes = &self.begun[..whole];
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.begun.clear();
        // One long line should not cost its memory for ever.
        self.begun.shrink_to(USUAL_LINE_BYTES);
        on_line(Line { text, cut_bytes });
    }
}

/// The last bytes of a stream, for an error's text.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    cut: bool,
}

impl Tail {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(TAIL_BYTES);
        self.cut |= excess > 0 || kept.len() < bytes.len();
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
    }

    /// From the first whole line on, where there is one.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let first_end = bytes.iter().position(|byte| *byte == b'\n').filter(|end| end + 1 < bytes.len());
        let start = if self.cut { first_end.map_or(0, |end| end + 1) } else { 0 };
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }
}

/// The length without a character cut in two at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let last_four = bytes.len().saturating_sub(4);
    let start = (last_four..bytes.len()).rev().find(|at| !matches!(bytes[*at], 0x80..=0xbf));
    match start.map(|start| (start, std::str::from_utf8(&bytes[start..]))) {
        Some((start, Err(error))) if error.error_len().is_none() => start,
        _ => bytes.len(),
    }
}

const USUAL_LINE_BYTES: usize = 1024;
const TAIL_BYTES: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<(String, u64)> {
        let (mut splitter, mut lines) = (LineSplitter::default(), Vec::new());
        let mut on_line = |line: Line| lines.push((line.text, line.cut_bytes));
        pieces.iter().for_each(|piece| splitter.feed(piece, &mut on_line));
        splitter.finish(&mut on_line);
        lines
    }

    fn whole(texts: &[&str]) -> Vec<(String, u64)> {
        texts.iter().map(|text| ((*text).to_owned(), 0)).collect()
    }

    #[test]
    fn lines_may_come_in_any_pieces() {
        assert_eq!(lines(&[b"one\ntwo\n"]), whole(&["one", "two"]));
        assert_eq!(lines(&[b"o", b"ne", b"\n", b"\nthr\xc3", b"\xa9e"]), whole(&["one", "", "thr\u{e9}e"]));
        assert_eq!(lines(&[b"dos\r\nunix\n"]), whole(&["dos", "unix"]));
        assert_eq!(lines(&[]), whole(&[]));
    }

    #[test]
    fn bytes_that_are_no_text_are_marked() {
        assert_eq!(lines(&[b"a\xffb\n\xfe\n"]), whole(&["a\u{fffd}b", "\u{fffd}"]));
    }

    #[test]
    fn a_long_line_is_cut_and_says_so_and_the_next_is_whole() {
        let long = vec![b'x'; LONGEST_LINE_BYTES + 10];
        let found = lines(&[&long, &long, b"\nshort\n"]);
        assert_eq!(found[0], ("x".repeat(LONGEST_LINE_BYTES), LONGEST_LINE_BYTES as u64 + 20));
        assert_eq!(found[1..], whole(&["short"]));
    }

    #[test]
    fn a_line_of_exactly_the_bound_is_whole() {
        let line = vec![b'x'; LONGEST_LINE_BYTES];
        assert_eq!(lines(&[&line, b"\n"]), [("x".repeat(LONGEST_LINE_BYTES), 0)]);
    }

    #[test]
    fn no_character_is_cut_in_two() {
        let mut long = vec![b'x'; LONGEST_LINE_BYTES - 1];
        long.extend("\u{e9}\u{e9}".bytes());
        let found = lines(&[&long]);
        assert_eq!(found, [("x".repeat(LONGEST_LINE_BYTES - 1), 3)]);
    }

    #[test]
    fn the_tail_is_the_end_and_begins_with_a_line() {
        let mut tail = Tail::default();
        tail.feed(b"short");
        assert_eq!(tail.text(), "short");
        for number in 0..10_000 {
            tail.feed(format!("line {number}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.len() <= TAIL_BYTES && text.len() > TAIL_BYTES - 100);
        assert!(text.starts_with("line ") && text.ends_with("\nline 9999\n"), "{text}");
        tail.feed(&vec![b'x'; 1 << 20]);
        assert_eq!(tail.text(), "x".repeat(TAIL_BYTES));
    }
}
