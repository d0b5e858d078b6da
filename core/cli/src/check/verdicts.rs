//! What trials show of each rule, put together, and told a line a rule.

use std::collections::BTreeMap;

use ganger_protocol::message::Hello;
use serde_json::{Value, json};

use super::breach::Breach;
use super::trials::Trial;
use crate::rules::{RULES, Rule, RuleRow};

/// What is known of the rules so far.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    kept: Vec<Rule>,
    broken: BTreeMap<Rule, Vec<Breach>>,
    /// Nothing could be tried.
    hopeless: bool,
    /// What a trial lacked, by rule.
    lacking: BTreeMap<Rule, String>,
}

/// What is said of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict<'a> {
    Kept,
    Broken(&'a [Breach]),
    Unchecked(String),
}

impl Verdicts {
    /// A trial ended well.
    pub(super) fn keeps(&mut self, trial: &Trial) {
        self.kept.extend_from_slice(trial.shows);
    }

    pub(super) fn breaks(&mut self, breach: Breach) {
        self.broken.entry(breach.rule).or_default().push(breach);
    }

    /// The worker does not even come up.
    pub(super) fn gives_up(&mut self, breach: Breach) {
        self.hopeless = true;
        self.breaks(breach);
    }

    /// A trial could not be held for want of something.
    pub(super) fn lacks(&mut self, trial: &Trial, what: &str) {
        for rule in trial.shows {
            self.lacking.entry(*rule).or_insert_with(|| format!("needs {what}"));
        }
    }

    pub(super) fn all_kept(&self) -> bool {
        self.broken.is_empty()
    }

    /// `R17 ok …`, `R17 FAIL: …`, `R17 -- …`, and what they add up to.
    pub(super) fn lines(&self, asked_for: &[Rule]) -> Vec<String> {
        let line = |row: &RuleRow| {
            let name = format!("R{}", row.number);
            match self.of(row) {
                Verdict::Kept => format!("{name:<4}ok    {}", row.text),
                Verdict::Broken(breaches) => format!("{name:<4}FAIL: {}", breaches[0]),
                Verdict::Unchecked(why) => format!("{name:<4}--    {} (not checked: {why})", row.text),
            }
        };
        let mut lines: Vec<String> = self.rows(asked_for).map(line).collect();
        let (kept, broken, unchecked) = self.counts(asked_for);
        lines.push(format!("{kept} rules kept, {broken} broken, {unchecked} not checked"));
        lines
    }

    /// The same for programs.
    pub(super) fn to_json(&self, hello: &Hello, asked_for: &[Rule]) -> Value {
        let told = |row: &RuleRow| match self.of(row) {
            Verdict::Kept => json!({ "rule": row.number, "verdict": "kept", "text": row.text }),
            Verdict::Broken(breaches) => {
                let breaches = breaches
                    .iter()
                    .map(|breach| json!({ "expected": breach.expected, "came": breach.came }))
                    .collect::<Vec<_>>();
                json!({ "rule": row.number, "verdict": "broken", "text": row.text, "breaches": breaches })
            }
            Verdict::Unchecked(why) => {
                json!({ "rule": row.number, "verdict": "unchecked", "text": row.text, "why": why })
            }
        };
        let (kept, broken, unchecked) = self.counts(asked_for);
        json!({
            "sdk": hello.sdk,
            "sdk_version": hello.sdk_version,
            "language": hello.language,
            "rules": self.rows(asked_for).map(told).collect::<Vec<_>>(),
            "kept": kept,
            "broken": broken,
            "unchecked": unchecked,
        })
    }

    /// Those asked for, and whichever were found broken on the way.
    fn rows(&self, asked_for: &[Rule]) -> impl Iterator<Item = &'static RuleRow> {
        let wanted = |row: &&RuleRow| {
            asked_for.is_empty() || asked_for.contains(&row.number) || self.broken.contains_key(&row.number)
        };
        RULES.iter().filter(wanted)
    }

    fn of(&self, row: &RuleRow) -> Verdict<'_> {
        if let Some(breaches) = self.broken.get(&row.number) {
            return Verdict::Broken(breaches);
        }
        if self.kept.contains(&row.number) {
            return Verdict::Kept;
        }
        let lacking = self.lacking.get(&row.number).map(String::as_str);
        let otherwise =
            if self.hopeless { "the worker did not come up" } else { "its trial broke another rule" };
        Verdict::Unchecked(row.unseen.or(lacking).unwrap_or(otherwise).to_owned())
    }

    fn counts(&self, asked_for: &[Rule]) -> (usize, usize, usize) {
        let count = |wanted: fn(&Verdict<'_>) -> bool| {
            self.rows(asked_for).filter(|row| wanted(&self.of(row))).count()
        };
        (
            count(|verdict| *verdict == Verdict::Kept),
            count(|verdict| matches!(verdict, Verdict::Broken(_))),
            count(|verdict| matches!(verdict, Verdict::Unchecked(_))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::trials;

    #[test]
    fn every_rule_is_shown_by_a_trial_or_says_why_not() {
        let shown: Vec<Rule> = trials::all().flat_map(|trial| trial.shows).copied().collect();
        for row in RULES {
            assert_eq!(shown.contains(&row.number), row.unseen.is_none(), "R{}", row.number);
        }
    }

    #[test]
    fn the_rules_are_those_of_the_law() {
        let law = include_str!("../../../../worker-sdk/protocol/SPEC.md");
        let mut numbers: Vec<Rule> = law
            .split("**R")
            .skip(1)
            .filter_map(|rest| rest.split_once("**").and_then(|(number, _)| number.parse().ok()))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, RULES.iter().map(|row| row.number).collect::<Vec<_>>());
    }
}
