//! Calls whose function is given their inputs at once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Arc, Body, CallState, Engine, Outcome, Run, lock, report_panic};
use crate::batch::Ends;
use crate::context::Context;
use crate::function::Input;

impl Engine {
    pub(super) fn run_together(self: &Arc<Self>, runs: Vec<Run>, call: Arc<CallState>) {
        let Body::Together(body) = self.body(&call) else {
            unreachable!("the session has only calls of batched functions together")
        };
        let context = Context { call, engine: Arc::clone(self) };
        let runs = self.whose_input_is_here(runs);
        match catch_unwind(AssertUnwindSafe(|| body(runs, &context))) {
            Ok(Ends::Now) => {}
            #[cfg(feature = "async")]
            Ok(Ends::Later(running)) => self.run_batch_async(running, context),
            Err(panic) => self.finish_all(&context, &Outcome::Failed(Box::new(report_panic(&*panic)))),
        }
    }

    /// Ends the calls of a batch that have no end yet.
    pub(super) fn finish_all(&self, context: &Context, outcome: &Outcome) {
        self.finish_each(context.call.seqs().iter().map(|&seq| (seq, outcome.clone())).collect());
    }

    /// Those that were cancelled before now have had their answer (R58).
    fn whose_input_is_here(&self, runs: Vec<Run>) -> Vec<(u64, Input)> {
        let mut here = Vec::with_capacity(runs.len());
        for run in runs {
            let seq = run.seq;
            let mut state = lock(&self.state);
            if !state.session.is_running(seq) {
                state.calls.remove(&seq);
                continue;
            }
            drop(state);
            match self.bring_in(run) {
                Ok(run) => here.push((seq, Input::of(run))),
                Err(outcome) => self.finish(seq, outcome),
            }
        }
        here
    }
}
