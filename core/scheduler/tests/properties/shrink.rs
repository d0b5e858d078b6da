//! From a story that fails to a short one that still does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::commands::Story;
use super::play;

/// The number of steps, or what went wrong; a panic of the scheduler goes wrong as well.
pub(super) fn tried(story: &Story) -> Result<usize, String> {
    match catch_unwind(AssertUnwindSafe(|| play(story))) {
        Ok(Ok(history)) => Ok(history.len()),
        Ok(Err(broken)) => Err(broken.0),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Err(text.unwrap_or_else(|| {
                panic.downcast_ref::<&str>().map_or_else(String::new, ToString::to_string)
            }))
        }
    }
}

/// Leaves out commands and scripts as long as the story still fails: halves first, single ones last.
pub(super) fn cut_down(story: Story, fails: impl Fn(&Story) -> bool) -> Story {
    let mut smallest = story;
    loop {
        let before = smallest.size();
        let mut piece = smallest.commands.len().max(1);
        while piece > 0 {
            smallest = without_pieces(smallest, piece, &fails);
            piece /= 2;
        }
        smallest = with_plain_starts(smallest, &fails);
        if smallest.size() == before {
            return smallest;
        }
    }
}

fn without_pieces(mut smallest: Story, piece: usize, fails: &impl Fn(&Story) -> bool) -> Story {
    let mut from = 0;
    while from < smallest.commands.len() {
        let mut candidate = smallest.clone();
        candidate.commands.drain(from..(from + piece).min(smallest.commands.len()));
        if fails(&candidate) {
            smallest = candidate;
        } else {
            from += piece;
        }
    }
    smallest
}

fn with_plain_starts(mut smallest: Story, fails: &impl Fn(&Story) -> bool) -> Story {
    while let Some(index) = smallest.starts.len().checked_sub(1) {
        let mut candidate = smallest.clone();
        candidate.starts.truncate(index);
        if !fails(&candidate) {
            return smallest;
        }
        smallest = candidate;
    }
    smallest
}
