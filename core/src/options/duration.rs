//! Durations as people write them: `500ms`, `10s`, `1m30s`, `2h`.

use std::time::Duration;

/// The longest duration that is taken; beyond it a clock of nanoseconds would come near its end.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Reads `1m30s`: numbers with units, the larger unit first. `None` for anything else.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split(after.trim_start(), |c| c.is_ascii_alphabetic());
        // Searching on from the last unit is what refuses `30s1m` and `1s1s`.
        let (_, length) = units.find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
        seconds += number.parse::<f64>().ok()? * length;
        rest = after.trim_start();
    }
    if text.trim().is_empty() { None } else { from_seconds(seconds) }
}

/// A duration of so many seconds, `None` when negative, not a number or longer than [`LONGEST`].
pub fn from_seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| *duration <= LONGEST)
}

/// The shortest way to write it: `1m30s`, `1.5s`, `0s`.
pub fn text(duration: Duration) -> String {
    if duration < Duration::from_secs(1) && !duration.is_zero() {
        return format!("{}ms", duration.as_nanos() as f64 / 1e6);
    }
    let (whole, part) = (duration.as_secs(), f64::from(duration.subsec_nanos()) / 1e9);
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, (whole % 60) as f64 + part);
    let mut text = String::new();
    if hours > 0 {
        text += &format!("{hours}h");
    }
    if minutes > 0 {
        text += &format!("{minutes}m");
    }
    if seconds > 0.0 || text.is_empty() {
        text += &format!("{seconds}s");
    }
    text
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// Larger first: a text names its units in this order.
const UNITS: [(&str, f64); 5] = [("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_written() {
        for (written, milliseconds) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            (" 1.5 S ", 1_500),
            ("1h 2m 3s 4ms", 3_723_004),
            ("0s", 0),
            ("0.1s", 100),
        ] {
            assert_eq!(parse(written), Some(Duration::from_millis(milliseconds)), "{written}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let texts = ["", " ", "10", "s", "-1s", "1x", "1s30m", "1s1s", "1..5s", ".s", "1e3s", "ten s", "1s!"];
        for written in texts.into_iter().chain(["999999999d"]) {
            assert_eq!(parse(written), None, "{written}");
        }
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(from_seconds(seconds), None);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text_of in ["0s", "500ms", "0.25ms", "1.5s", "10s", "1m", "1m30s", "2h", "25h0.5s"] {
            assert_eq!(text(parse(text_of).unwrap()), text_of);
        }
    }
}
