//! What happened, step by step, and how it is printed.

use std::collections::BTreeMap;
use std::fmt;

use ganger_scheduler::{Action, CallId, Config, Input, Scheduler, Settlement, Timestamp};

use super::describe::{describe, describe_input};

/// What moved the scheduler.
#[derive(Clone, Debug)]
pub(crate) enum Stimulus {
    Input(Input),
    Clock,
}

pub(crate) struct Step {
    pub(crate) at: Timestamp,
    pub(crate) stimulus: Stimulus,
    pub(crate) actions: Vec<Action>,
}

#[derive(Default)]
pub(crate) struct History {
    steps: Vec<Step>,
    /// The step of every settlement.
    settled_in: BTreeMap<CallId, usize>,
}

impl History {
    pub(crate) fn record(&mut self, at: Timestamp, stimulus: Stimulus, actions: Vec<Action>) -> &Step {
        for action in &actions {
            if let Action::Settle { call, .. } = action {
                self.settled_in.entry(*call).or_insert(self.steps.len());
            }
        }
        self.steps.push(Step { at, stimulus, actions });
        self.steps.last().expect("it was pushed a line ago")
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn actions(&self) -> impl Iterator<Item = (Timestamp, &Action)> + '_ {
        self.steps.iter().flat_map(|step| step.actions.iter().map(|action| (step.at, action)))
    }

    pub(crate) fn settlement(&self, call: CallId) -> Option<(Timestamp, &Settlement)> {
        let step = &self.steps[*self.settled_in.get(&call)?];
        step.actions.iter().find_map(|action| {
            let Action::Settle { call: settled, settlement } = action else { return None };
            (*settled == call).then_some((step.at, settlement))
        })
    }

    /// All actions as words, in order.
    pub(crate) fn words(&self) -> Vec<String> {
        self.actions().map(|(_, action)| describe(action)).collect()
    }

    /// The actions whose words begin with `start`, with the milliseconds they came at.
    pub(crate) fn moments_of(&self, start: &str) -> Vec<u128> {
        let matches = |action: &Action| describe(action).starts_with(start);
        let ms = |at: Timestamp| at.elapsed().as_millis();
        self.actions().filter(|(_, action)| matches(action)).map(|(at, _)| ms(at)).collect()
    }

    /// Gives the same inputs at the same times to a new scheduler. The step at which it acts differently, if any.
    pub(crate) fn first_difference(&self, config: &Config) -> Option<usize> {
        let mut scheduler = Scheduler::new(config.clone());
        self.steps.iter().position(|step| {
            match &step.stimulus {
                Stimulus::Input(input) => scheduler.handle(step.at, input.clone()),
                Stimulus::Clock => scheduler.handle_timeout(step.at),
            }
            let actions: Vec<Action> = std::iter::from_fn(|| scheduler.poll_action()).collect();
            actions != step.actions
        })
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            let stimulus = match &step.stimulus {
                Stimulus::Input(input) => describe_input(input),
                Stimulus::Clock => "clock".into(),
            };
            let actions: Vec<String> = step.actions.iter().map(describe).collect();
            let ms = step.at.elapsed().as_secs_f64() * 1e3;
            writeln!(f, "{ms:>12.3} ms  {stimulus:<40} -> {}", actions.join("; "))?;
        }
        Ok(())
    }
}
