//! A name that is not known, as messages have it, and the known one that is nearest to it.

use std::borrow::Cow;

/// How many characters of an unknown name a message repeats (R17).
const LONGEST_REPEATED: usize = 200;

/// A name of any length as a message repeats it.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_REPEATED) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

/// The nearest of some names, if one is near enough to be meant.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = 1 + wanted.chars().count() / 3;
    known
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many characters to insert, remove or replace.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, mine) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, theirs) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(mine != *theirs);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{nearest, shortened};

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["convert", "prices.convert", "sum"];
        assert_eq!(nearest("convrt", known.into_iter()), Some("convert"));
        assert_eq!(nearest("prices.konvert", known.into_iter()), Some("prices.convert"));
        assert_eq!(nearest("thumbnail", known.into_iter()), None);
        assert_eq!(nearest("", known.into_iter()), None);
    }

    #[test]
    fn only_a_long_name_is_shortened() {
        let whole = "é".repeat(200);
        assert_eq!(shortened(&whole), whole);
        assert_eq!(shortened(&(whole.clone() + "e")), whole + "…");
    }
}
