//! The outcomes of one call on every worker, until the last has come.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::{Completion, Gathered, Outcome};

/// Handed its places first; told how many there are when all are handed out, for outcomes may come before.
#[derive(Clone)]
pub(crate) struct Gathering(Arc<Mutex<State>>);

struct State {
    outcomes: Vec<(usize, u32, Outcome)>,
    expected: Option<usize>,
    done: Option<Gathered>,
}

impl Gathering {
    pub(crate) fn new(done: Gathered) -> Self {
        Self(Arc::new(Mutex::new(State { outcomes: Vec::new(), expected: None, done: Some(done) })))
    }

    /// The completion of the call on one worker.
    pub(crate) fn place(&self, worker: u32, nth: usize) -> Completion {
        let gathering = self.clone();
        Box::new(move |outcome| {
            gathering.state().outcomes.push((nth, worker, outcome));
            gathering.look();
        })
    }

    pub(crate) fn expect(&self, calls: usize) {
        self.state().expected = Some(calls);
        self.look();
    }

    fn look(&self) {
        let mut state = self.state();
        if state.expected != Some(state.outcomes.len()) {
            return;
        }
        let mut outcomes = std::mem::take(&mut state.outcomes);
        outcomes.sort_by_key(|(nth, ..)| *nth);
        let done = state.done.take();
        drop(state);
        if let Some(done) = done {
            done(outcomes.into_iter().map(|(_, worker, outcome)| (worker, outcome)).collect());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
