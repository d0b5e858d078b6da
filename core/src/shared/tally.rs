//! What was counted of calls, as callers saw them: in all and function by function. And the most that there was at once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::call::Outcome;
use crate::error::ErrorCode;
use crate::stats::{FunctionStats, Peak};

/// So many functions are counted each for itself: apps may make names up as they go.
const MOST_FUNCTIONS: usize = 1_000;
/// What all others are counted as.
const OTHERS: &str = "(others)";

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(super) completed: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) peak: Peak,
    functions: Vec<FunctionStats>,
    places: HashMap<Arc<str>, Place>,
}

/// Where a function's calls are counted. Looked up once a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(usize);

impl Tally {
    pub(super) fn submitted(&mut self, function: &Arc<str>) -> Place {
        let known = self.places.get(function).copied();
        let place = known.unwrap_or_else(|| self.new_place(function));
        self.functions[place.0].submitted += 1;
        place
    }

    pub(super) fn settled(&mut self, place: Place, outcome: &Outcome) {
        let function = &mut self.functions[place.0];
        let (all, of_function) = match outcome {
            Ok(_) => (&mut self.completed, &mut function.completed),
            Err(error) if error.code == ErrorCode::Cancelled => {
                (&mut self.cancelled, &mut function.cancelled)
            }
            Err(_) => (&mut self.failed, &mut function.failed),
        };
        *all += 1;
        *of_function += 1;
    }

    pub(super) fn present(&mut self, workers: usize, queued: usize) {
        self.peak.workers = self.peak.workers.max(u32::try_from(workers).unwrap_or(u32::MAX));
        self.peak.queued = self.peak.queued.max(queued as u64);
    }

    /// By name.
    pub(super) fn functions(&self) -> Vec<FunctionStats> {
        let mut functions = self.functions.clone();
        functions.sort_by(|one, other| one.r#fn.cmp(&other.r#fn));
        functions
    }

    fn new_place(&mut self, function: &Arc<str>) -> Place {
        if self.places.len() >= MOST_FUNCTIONS {
            // The one beyond those that have a name.
            if self.functions.len() == MOST_FUNCTIONS {
                self.functions.push(FunctionStats { r#fn: OTHERS.to_owned(), ..FunctionStats::default() });
            }
            return Place(MOST_FUNCTIONS);
        }
        let place = Place(self.functions.len());
        self.functions.push(FunctionStats { r#fn: function.to_string(), ..FunctionStats::default() });
        self.places.insert(Arc::clone(function), place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn calls_are_counted_in_all_and_by_function() {
        let mut tally = Tally::default();
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "another".into());
        let places = [tally.submitted(&one), tally.submitted(&other), tally.submitted(&one)];
        tally.settled(places[0], &Err(Box::new(Error::cancelled())));
        tally.settled(places[1], &Err(Box::new(Error::pool_closed())));
        assert_eq!((tally.cancelled, tally.failed, tally.completed), (1, 1, 0));
        let functions = tally.functions();
        let counts =
            |stats: &FunctionStats| (stats.r#fn.clone(), stats.submitted, stats.cancelled, stats.failed);
        assert_eq!(counts(&functions[0]), ("another".into(), 1, 0, 1));
        assert_eq!(counts(&functions[1]), ("one".into(), 2, 1, 0));
    }

    #[test]
    fn names_without_end_take_room_that_ends() {
        let mut tally = Tally::default();
        for number in 0..MOST_FUNCTIONS * 3 {
            tally.submitted(&format!("made-up-{number}").into());
        }
        let functions = tally.functions();
        assert_eq!(functions.len(), MOST_FUNCTIONS + 1);
        assert_eq!(functions.iter().map(|stats| stats.submitted).sum::<u64>(), MOST_FUNCTIONS as u64 * 3);
        assert_eq!(functions[0].r#fn, OTHERS);
        assert_eq!(functions[0].submitted, MOST_FUNCTIONS as u64 * 2);
    }
}
