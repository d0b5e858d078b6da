//! Calls that lie ready at one busy worker, in the order in which it will take them up. They are the pool's until it claims them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::action::CancelReason;
use crate::failure::Failure;
use crate::id::CallId;

/// Most calls that lie at a worker. From half of it on it is not refilled, so that several go with one write and are read with one.
pub(crate) const LENGTH: u32 = 16;
/// A worker whose last call took longer gets none: what a wake-up costs is nothing beside that.
pub(crate) const QUICK: Duration = Duration::from_micros(500);
/// When a worker has been at one call for so long, what lies behind it is taken back.
pub(crate) const LINGER: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub(crate) struct Line {
    /// The worker claims calls that lie at it.
    pub(crate) claims: bool,
    /// Its last call was.
    pub(crate) quick: bool,
    calls: VecDeque<Lying>,
    /// So many of the first are the worker's by now: one could not be taken back.
    claimed: usize,
    /// So many of the last are being taken back.
    asked_back: usize,
    gate: Gate,
    /// How long it was when it was last listed among those to be filled, and among those to be taken from.
    pub(crate) listed: Listed,
}

/// Under what a line stands in the index of all lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Listed {
    pub(crate) hungry: Option<u32>,
    /// Of how many can be taken back: the binary logarithm, which changes less often.
    pub(crate) laden: Option<u32>,
}

#[derive(Debug)]
struct Lying {
    call: CallId,
    wish: Wish,
}

/// What is wanted of a call that lies at a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Its answer.
    Answer,
    /// Nothing, if it can still be taken back; it is settled with this then.
    GivenUp { failure: Failure, reason: CancelReason },
    /// Nothing: its caller is settled, its worker was asked to stop it and has so long for that once it takes it up.
    Asked { grace: Duration },
}

/// A call that was taken back may lie unread before the worker, which would take the token of the next for it. So none follows until the
/// worker has answered a call that came after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Gate {
    #[default]
    Open,
    Shut,
    /// This call came after.
    OpensWith(CallId),
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// How many can be taken back, as far as is known.
    pub(crate) fn takeable(&self) -> usize {
        self.calls.len() - self.claimed - self.asked_back
    }

    /// Whether one more may be laid down.
    pub(crate) fn is_open(&self) -> bool {
        self.claims && self.quick && self.gate == Gate::Open && self.asked_back == 0
    }

    pub(crate) fn lay(&mut self, call: CallId) {
        self.calls.push_back(Lying { call, wish: Wish::Answer });
    }

    /// The worker takes up the first.
    pub(crate) fn take_up(&mut self) -> Option<(CallId, Wish)> {
        debug_assert_eq!(self.asked_back, 0, "what is taken back is known before anything else happens");
        let Lying { call, wish } = self.calls.pop_front()?;
        self.claimed = self.claimed.saturating_sub(1);
        Some((call, wish))
    }

    /// A call goes to the worker by itself, behind all that lay there.
    pub(crate) fn passed_by(&mut self, call: CallId) {
        if self.gate == Gate::Shut {
            self.gate = Gate::OpensWith(call);
        }
    }

    /// The worker has answered, and so has read all that came before.
    pub(crate) fn answered(&mut self, call: CallId) {
        if self.gate == Gate::OpensWith(call) {
            self.gate = Gate::Open;
        }
    }

    /// How many have to be taken back for this one to be among them. None: it does not lie here, or is the worker's.
    pub(crate) fn behind(&self, call: CallId) -> Option<usize> {
        let index = self.calls.iter().position(|lying| lying.call == call)?;
        (index >= self.claimed).then(|| (self.calls.len() - index).saturating_sub(self.asked_back))
    }

    pub(crate) fn wish(&mut self, call: CallId, wish: Wish) {
        if let Some(lying) = self.calls.iter_mut().find(|lying| lying.call == call) {
            lying.wish = wish;
        }
    }

    /// So many more of the last are being taken back.
    pub(crate) fn ask_back(&mut self, most: usize) {
        self.asked_back += most;
    }

    /// Of those that were to be taken back so many were. They are returned, the first first.
    pub(crate) fn taken_back(&mut self, asked: usize, taken: usize) -> Vec<(CallId, Wish)> {
        self.asked_back = self.asked_back.saturating_sub(asked);
        let kept = self.calls.len().saturating_sub(taken);
        if taken < asked {
            self.claimed = kept;
        }
        if taken > 0 {
            self.gate = Gate::Shut;
        }
        self.calls.split_off(kept).into_iter().map(|lying| (lying.call, lying.wish)).collect()
    }

    /// Those that are the worker's and that nobody wants.
    pub(crate) fn claimed_in_vain(&self) -> Vec<(CallId, Wish)> {
        let claimed = self.calls.iter().take(self.claimed);
        let given_up = claimed.filter(|lying| matches!(lying.wish, Wish::GivenUp { .. }));
        given_up.map(|lying| (lying.call, lying.wish.clone())).collect()
    }

    /// All of them, at the end of their worker.
    pub(crate) fn drain(&mut self) -> Vec<(CallId, Wish)> {
        self.claimed = 0;
        self.asked_back = 0;
        self.calls.drain(..).map(|lying| (lying.call, lying.wish)).collect()
    }
}
