//! Whose turn it is (R62): calls that were handed over ahead wait in a line, and each is taken up when the answer to the
//! one before it is written.

use std::collections::VecDeque;

use ganger_protocol::{Flags, Frame};

use super::Session;

/// Where calls that were handed over ahead are claimed.
pub(crate) trait Claims: std::fmt::Debug + Send {
    /// Takes a token. False: there is none, the host has taken its call back.
    fn claim(&self) -> bool;
}

/// The line, and what keeps its first from beginning.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// None: the host hands nothing over ahead, and every call begins when it comes.
    claims: Option<Box<dyn Claims>>,
    line: VecDeque<Frame>,
    /// Answers that may not be written yet.
    unwritten: u32,
    /// Those of them that nobody has taken care of yet.
    new: u32,
}

impl Turns {
    pub(super) fn are_taken(&self) -> bool {
        self.claims.is_some()
    }

    pub(super) fn nobody_waits(&self) -> bool {
        self.line.is_empty()
    }

    pub(super) fn waits(&self, seq: u64) -> bool {
        self.line.iter().any(|call| call.seq == seq)
    }

    /// The first in line, or the one that has just come if nobody is.
    pub(super) fn first(&self, came: u64) -> u64 {
        self.line.front().map_or(came, |call| call.seq)
    }

    pub(super) fn has_answered(&mut self) {
        if self.are_taken() {
            self.unwritten += 1;
            self.new += 1;
        }
    }
}

impl Session {
    /// WELCOME named them, and they are open.
    pub(crate) fn claims_from(&mut self, claims: Box<dyn Claims>) {
        self.turns.claims = Some(claims);
    }

    /// How many answers there are whose writing must be told to [`written`](Self::written).
    pub(crate) fn new_answers(&mut self) -> u32 {
        std::mem::take(&mut self.turns.new)
    }

    /// So many answers are written completely.
    pub(crate) fn written(&mut self, answers: u32) {
        self.turns.unwritten -= answers;
        if let Err(complaint) = self.take_turns() {
            self.violation(complaint);
        }
    }

    /// A call has come. Without AHEAD its turn has come with it: the host has heard the answer to every call before it,
    /// whether that was noted here or not, or has taken the call back. And what belongs to it may follow at once.
    pub(super) fn line_up(&mut self, call: Frame) -> Result<(), String> {
        self.highest = call.seq;
        if call.flags.contains(Flags::AHEAD) {
            self.turns.line.push_back(call);
            return self.take_turns();
        }
        for taken_back in self.turns.line.drain(..) {
            self.early.remove(&taken_back.seq);
        }
        self.take_up(call)
    }

    fn take_turns(&mut self) -> Result<(), String> {
        while self.turns.unwritten == 0 && self.running.is_empty() && self.assembler.is_idle() {
            let Some(call) = self.turns.line.pop_front() else { break };
            if !self.turns.claims.as_ref().is_some_and(|claims| claims.claim()) {
                self.early.remove(&call.seq);
            } else {
                self.take_up(call)?;
            }
        }
        self.stop_if_idle();
        Ok(())
    }
}
