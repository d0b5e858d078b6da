//! A span of time as a number with the largest unit that is exact.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// From the largest, in nanoseconds.
const UNITS: [(&str, u128); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span(pub(super) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.0.as_nanos();
        let exact = UNITS.into_iter().find(|(_, size)| nanoseconds.is_multiple_of(*size));
        let (unit, size) = exact.expect("every span is a whole number of nanoseconds");
        write!(f, "{}{unit}", nanoseconds / size)
    }
}

impl FromStr for Span {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or(())?;
        let count: u128 = text[..text.len() - unit.len()].parse().map_err(|_| ())?;
        let nanoseconds = count.checked_mul(size).ok_or(())?;
        let (seconds, rest) = (nanoseconds / UNITS[0].1, nanoseconds % UNITS[0].1);
        let rest = u32::try_from(rest).expect("less than a second");
        Ok(Self(Duration::new(u64::try_from(seconds).map_err(|_| ())?, rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_it_was_written() {
        for (span, text) in [
            (Duration::ZERO, "0s"),
            (Duration::from_secs(90), "90s"),
            (Duration::from_millis(1_500), "1500ms"),
            (Duration::from_micros(7), "7us"),
            (Duration::new(1, 1), "1000000001ns"),
            (Duration::MAX, "18446744073709551615999999999ns"),
        ] {
            assert_eq!(Span(span).to_string(), text);
            assert_eq!(text.parse(), Ok(Span(span)), "{text}");
        }
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in ["", "5", "s", "5m", "-1s", "1.5s", "5 s", "99999999999999999999s"] {
            assert_eq!(text.parse::<Span>(), Err(()), "{text}");
        }
    }
}
