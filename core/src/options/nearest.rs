//! The known name that someone most likely meant.

/// The candidate that needs the fewest edits to become `written`, if it is near enough to be worth naming.
pub(super) fn nearest<'a>(written: &str, mut candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (written.chars().count() / 3).max(2);
    let from = plain(written);
    if let Some((_, ours)) = ELSEWHERE.iter().find(|(theirs, _)| from.iter().copied().eq(theirs.chars())) {
        return candidates.find(|candidate| candidate == ours);
    }
    candidates
        .map(|candidate| (distance(&from, &plain(candidate)), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Letter case and underscores are no edits: `max_queue` is how half the users spell `maxQueue`.
fn plain(name: &str) -> Vec<char> {
    name.chars().filter(|c| *c != '_' && *c != '-').map(|c| c.to_ascii_lowercase()).take(LONGEST).collect()
}

/// Levenshtein's distance, one row of the matrix at a time.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// What other pools call what we have under another name, which may be far from it or nearer to something else.
const ELSEWHERE: &[(&str, &str)] = &[
    ("maxworkers", "workers"),
    ("maxthreads", "workers"),
    ("maxprocesses", "workers"),
    ("processes", "workers"),
    ("numworkers", "workers"),
    ("poolsize", "workers"),
    ("minthreads", "min_workers"),
    ("filename", "node"),
    ("script", "node"),
    ("execpath", "interpreter"),
    ("pythonpath", "interpreter"),
    ("maxtasksperchild", "max_calls"),
    ("maxtasksperworker", "max_calls"),
    ("maxretries", "retries"),
    ("concurrenttasksperworker", "concurrency"),
    ("taskqueuesize", "max_queue"),
];

/// A name of a megabyte must not cost a quadratic search.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_known_name_is_found() {
        let known = ["workers", "maxQueue", "timeout", "queueTimeout"];
        for (written, meant) in [
            ("worker", Some("workers")),
            ("max_queue", Some("maxQueue")),
            ("tiemout", Some("timeout")),
            ("queueTimout", Some("queueTimeout")),
            ("maxWorkers", Some("workers")),
            ("max_workers", Some("workers")),
            ("maxTasksPerChild", None),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known.into_iter()), meant, "{written}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (a, b, edits) in [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "abc", 0), ("ab", "ba", 2)] {
            assert_eq!(distance(&letters(a), &letters(b)), edits);
        }
    }
}
