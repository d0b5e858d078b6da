//! The ends of calls: what each ended with, through the lane or through shared memory.

use ganger_protocol::Reference;

use super::{Engine, Outcome, State};

impl Engine {
    pub(crate) fn finish(&self, seq: u64, outcome: Outcome) {
        let shared = self.shared_result(&outcome);
        self.act(|state| self.end(state, seq, outcome, shared));
    }

    /// Ends several calls in one piece.
    pub(crate) fn finish_each(&self, ends: Vec<(u64, Outcome)>) {
        let ends = ends.into_iter().map(|(seq, outcome)| (seq, self.shared_result(&outcome), outcome));
        let ends: Vec<_> = ends.collect();
        self.act(|state| {
            for (seq, shared, outcome) in ends {
                self.end(state, seq, outcome, shared);
            }
        });
    }

    /// Where in shared memory a result lies now, if it is one that goes there.
    fn shared_result(&self, outcome: &Outcome) -> Option<Reference> {
        match outcome {
            Outcome::Result(_, payload) => self.arenas.get()?.write(payload),
            Outcome::Failed(_) | Outcome::Cancelled => None,
        }
    }

    fn end(&self, state: &mut State, seq: u64, outcome: Outcome, shared: Option<Reference>) {
        state.calls.remove(&seq);
        match (outcome, shared, self.arenas.get()) {
            (Outcome::Result(encoding, _), Some(reference), Some(arenas)) => {
                if !state.session.finish_shared(seq, encoding, reference) {
                    arenas.release(&[reference.offset]);
                }
            }
            (outcome, _, _) => state.session.finish(seq, outcome),
        }
    }
}
