//! Calls that lie ready at busy workers: written to them, with a token for each, and taken back by taking the token.

use std::collections::VecDeque;

use ganger_protocol::message::Call as WireCall;
use ganger_protocol::{Flags, Frame, Kind, Lane};
use ganger_scheduler::{CallId, Heard, Input as News, Timestamp, WorkerId};

use super::Aftermath;
use super::actions::Attempt;
use super::books::{Books, Member};
use super::in_flight::InFlight;
use crate::process::Claims;

/// Inputs of so many bytes at most go ahead: what is copied in vain, if a call is taken back, must cost little.
const SMALL: usize = 16 * 1024;

/// One worker's part in it.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    terms: Terms,
    /// The numbers of the calls that were laid there and are not answered, in order. The first may run.
    laid: VecDeque<u64>,
}

/// Whether calls may lie at the worker.
#[derive(Debug, Default)]
enum Terms {
    /// It inherited no claims, or does not claim.
    #[default]
    Never,
    /// It inherited claims, and has not said yet whether it claims.
    Offered(Claims),
    Agreed(Claims),
}

impl Ahead {
    pub(crate) fn of(claims: Claims) -> Self {
        Self { terms: Terms::Offered(claims), ..Self::default() }
    }

    pub(crate) fn claims(&self) -> Option<&Claims> {
        match &self.terms {
            Terms::Offered(claims) | Terms::Agreed(claims) => Some(claims),
            Terms::Never => None,
        }
    }

    /// The worker has said what it can. Whether calls may lie at it.
    pub(super) fn agree(&mut self, worker_can: bool) -> bool {
        self.terms = match std::mem::take(&mut self.terms) {
            Terms::Offered(claims) | Terms::Agreed(claims) if worker_can => Terms::Agreed(claims),
            Terms::Never | Terms::Offered(_) | Terms::Agreed(_) => Terms::Never,
        };
        self.is_agreed()
    }

    pub(super) fn is_agreed(&self) -> bool {
        matches!(self.terms, Terms::Agreed(_))
    }

    pub(super) fn answered(&mut self, seq: u64) {
        if self.laid.front() == Some(&seq) {
            self.laid.pop_front();
        }
    }

    /// The last so many, which the worker has not claimed.
    pub(crate) fn unclaimed(&self, count: usize) -> impl Iterator<Item = u64> + '_ {
        self.laid.iter().skip(self.laid.len().saturating_sub(count)).copied()
    }
}

impl Books {
    pub(super) fn hand_ahead(&mut self, worker: WorkerId, attempt: &Attempt, aftermath: &mut Aftermath) {
        let (Some(member), Some(pending)) = (self.crew.get_mut(&worker), self.calls.get(&attempt.call))
        else {
            return;
        };
        let Some(link) = member.link().cloned() else { return };
        let seq = member.next_seq();
        member.in_flight.insert(seq, InFlight::lying(attempt.call));
        member.ahead.laid.push_back(seq);
        let frame = Frame::new(Kind::Call, seq).with_body(attempt.body(&pending.call, None).encode());
        let mut frame = member.loans.carry(frame, &pending.call.input);
        frame.flags = frame.flags.with(Flags::AHEAD);
        link.push(Lane::Data, frame);
        aftermath.flush(link);
    }

    /// The worker is at the first call that lies there.
    pub(super) fn take_up(&mut self, worker: WorkerId, call: CallId, now: Timestamp) {
        let Some(member) = self.crew.get_mut(&worker) else { return };
        if let Some(flight) = member.ahead.laid.front().and_then(|seq| member.in_flight.get_mut(seq)) {
            flight.lies = false;
        }
        if let Some(pending) = self.calls.get_mut(&call) {
            pending.assigned_at = Some(now);
        }
    }

    pub(super) fn take_back(&mut self, worker: WorkerId, most: usize, now: Timestamp) {
        let Some(member) = self.crew.get_mut(&worker) else { return };
        let taken = member.link().map_or(most, |link| link.take_back(most));
        for _ in 0..taken {
            if let Some(seq) = member.ahead.laid.pop_back() {
                member.in_flight.remove(&seq);
            }
        }
        let news = News::TakenBack { worker, asked: most, taken };
        self.recorder.note(now, Heard::Input(news.clone()));
        self.scheduler.handle(now, news);
    }
}

/// Whether a call may lie at a worker, as far as its input and its streams go.
pub(super) fn may_lie(call: &crate::call::Call, has_streams: bool) -> bool {
    !has_streams && call.input.payload.len() <= SMALL
}

impl Member {
    pub(super) fn next_seq(&mut self) -> u64 {
        self.last_seq += 1;
        self.last_seq
    }
}

impl Attempt {
    /// What is written of it. `batch`: the call of its batch that was written first, and how many they are.
    pub(super) fn body<'a>(
        &self,
        asked: &'a crate::call::Call,
        batch: Option<ganger_protocol::message::InBatch>,
    ) -> WireCall<'a> {
        let trace = &asked.options.trace;
        WireCall {
            function: &asked.function,
            attempt: self.attempt,
            timeout_ms: self.remaining.map(super::actions::milliseconds),
            shape: asked.input.shape,
            context: (!trace.is_empty()).then_some(std::borrow::Cow::Borrowed(trace)),
            batch,
        }
    }
}
