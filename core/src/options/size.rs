//! Sizes as people write them: `512mb` is decimal, `512MiB` binary, as written.

/// Reads `1.5GiB`: a number and a unit. `None` for anything else.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (_, bytes) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    // Whole numbers go through integers: a double holds only 53 bits of them.
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(*bytes),
        Err(_) => from_float(number.parse::<f64>().ok()? * *bytes as f64),
    }
}

/// So many megabytes, `None` when negative, not a number or too large.
pub fn from_megabytes(megabytes: f64) -> Option<u64> {
    from_float(megabytes * 1e6)
}

/// The shortest way to write it without loss: `256MiB`, `1500MB`, `17B`.
pub fn text(bytes: u64) -> String {
    let even = UNITS.iter().filter(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
    let (name, unit) = even.max_by_key(|(_, unit)| *unit).unwrap_or(&UNITS[0]);
    format!("{}{name}", bytes / unit)
}

fn from_float(bytes: f64) -> Option<u64> {
    (bytes >= 0.0 && bytes < u64::MAX as f64).then(|| bytes.round() as u64)
}

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_written() {
        for (written, bytes) in [
            ("512mb", 512_000_000),
            ("512MiB", 512 << 20),
            ("1.5gb", 1_500_000_000),
            ("1.5GiB", 3 << 29),
            (" 1 tib ", 1 << 40),
            ("4294967296b", 4 << 30),
            ("9007199254740993b", 9_007_199_254_740_993),
            ("0kb", 0),
        ] {
            assert_eq!(parse(written), Some(bytes), "{written}");
        }
        assert_eq!(from_megabytes(512.0), Some(512_000_000));
    }

    #[test]
    fn anything_else_is_refused() {
        for written in
            ["", "512", "mb", "-1mb", "512m", "1.5.2gb", "1e3mb", "1 mb x", "99999999999999TiB", ".mb"]
        {
            assert_eq!(parse(written), None, "{written}");
        }
        for megabytes in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(from_megabytes(megabytes), None);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text_of in ["0B", "17B", "256MiB", "4GiB", "1500MB", "2TiB"] {
            assert_eq!(text(parse(text_of).unwrap()), text_of);
        }
    }
}
