//! Calls that their function is given together (R57): they gather until the last one has come, and while they run
//! each can be let go by itself (R59).

use std::ops::RangeInclusive;

use ganger_protocol::message::{CancelReason, InBatch};

use super::{Effect, Run, Session};

/// A batch whose last call has not come yet.
#[derive(Debug)]
pub(super) struct Gathering {
    seqs: RangeInclusive<u64>,
    runs: Vec<Run>,
}

impl Session {
    /// The numbers of the batch that a call is in; none if it comes alone.
    pub(super) fn join(
        &mut self,
        seq: u64,
        batch: Option<InBatch>,
    ) -> Result<Option<RangeInclusive<u64>>, String> {
        let said = batch.map(|InBatch { first, count }| {
            let last = first.saturating_add(count.into()).saturating_sub(1);
            first..=last
        });
        match (said, &self.gathering) {
            (None, None) => Ok(None),
            // A call of another function, whose pieces go between those of a batch.
            (None, Some(gathering)) if !gathering.seqs.contains(&seq) => Ok(None),
            (Some(seqs), None) if seqs.contains(&seq) => {
                self.gathering = Some(Gathering { seqs: seqs.clone(), runs: Vec::new() });
                Ok(Some(seqs))
            }
            (Some(seqs), Some(gathering)) if seqs == gathering.seqs && seqs.contains(&seq) => Ok(Some(seqs)),
            (said, _) => Err(format!("seq {seq} in a batch that is said to be {said:?}")),
        }
    }

    /// Runs a call, or has it wait for the others of its batch.
    pub(super) fn start(&mut self, run: Run, in_batch: bool) {
        match &mut self.gathering {
            Some(gathering) if in_batch => gathering.runs.push(run),
            Some(_) | None => self.effects.push(Effect::Run(Box::new(run))),
        }
    }

    /// The last call of a batch sets it going, even if it is itself refused.
    pub(super) fn set_going(&mut self, seq: u64) {
        let Some(gathering) = self.gathering.take_if(|gathering| *gathering.seqs.end() == seq) else {
            return;
        };
        if !gathering.runs.is_empty() {
            self.effects.push(Effect::RunTogether(gathering.runs));
        }
    }

    /// A running call is cancelled. One of a batch is let go while others wait for an answer; the function is asked to stop with the last.
    pub(super) fn cancel_running(&mut self, seq: u64, reason: CancelReason) {
        if self.leaves_gathering(seq) || self.others_wait(seq) {
            self.running.remove(&seq);
            self.answer_cancelled(seq);
            self.stop_if_idle();
        } else if let Some(running) = self.running.get_mut(&seq)
            && !std::mem::replace(&mut running.cancelled, true)
        {
            self.effects.push(Effect::Cancel { seq, reason });
        }
    }

    /// Whether a call still waits for its end.
    pub(crate) fn is_running(&self, seq: u64) -> bool {
        self.running.contains_key(&seq)
    }

    /// Whether it was one of a batch that has not begun.
    fn leaves_gathering(&mut self, seq: u64) -> bool {
        let Some(gathering) = &mut self.gathering else { return false };
        let before = gathering.runs.len();
        gathering.runs.retain(|run| run.seq != seq);
        gathering.runs.len() < before
    }

    fn others_wait(&self, seq: u64) -> bool {
        let Some(batch) = self.running.get(&seq).and_then(|running| running.batch.clone()) else {
            return false;
        };
        self.running.range(batch).any(|(&other, running)| other != seq && !running.cancelled)
    }
}
