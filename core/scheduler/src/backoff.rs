//! How soon to start a worker again after starts that failed.

use std::time::Duration;

use crate::time::Timestamp;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);
/// So many failed starts in a row, with no worker alive, and calls fail at once.
const BREAKS_AT: u32 = 3;
/// So many starts in a row may be ended by a SIGKILL that is not ours before they count as failed, if calls were answered
/// before: then somebody else's kill says nothing about the code, and a pool under fire must fill up at once.
const FOREIGN_KILLS_FORGIVEN: u32 = 300;
/// So many before any call was answered: it may as well be the code that cannot start.
const UNPROVEN_KILLS_FORGIVEN: u32 = 2;
/// So long after the first of them, too. A machine without memory kills every start, and slow ones least often.
const FORGIVEN_FOR: Duration = Duration::from_secs(10);
/// A worker that dies this soon after it was ready, with no call answered, started badly too.
pub(crate) const EARLY_DEATH: Duration = Duration::from_secs(5);

/// What a bad start looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadStart {
    /// It was never ready, or died soon after with nothing to do.
    Failed,
    /// It died soon after it was ready, while it ran calls. That may be the calls' doing, so that it puts the next start off
    /// but makes no other call fail.
    DiedAtWork,
    /// Somebody else killed it, or it killed itself: the system tells no difference.
    KilledFromOutside { at_work: bool },
}

/// Starts in a row that somebody else's SIGKILL ended.
#[derive(Debug, Default)]
pub(crate) struct ForeignKills {
    count: u32,
    first: Option<Timestamp>,
}

impl ForeignKills {
    /// One more. Whether it is forgiven too, being one of the first `most`.
    pub(crate) fn forgive(&mut self, now: Timestamp, most: u32) -> bool {
        let first = *self.first.get_or_insert(now);
        let forgiven = self.count < most && now.since(first) < FORGIVEN_FOR;
        self.count += u32::from(forgiven);
        forgiven
    }
}

#[derive(Debug, Default)]
pub(crate) struct StartBackoff {
    bad_starts: u32,
    failed_starts: u32,
    /// Some call was answered: the code can start.
    proven: bool,
    foreign_kills: ForeignKills,
    not_before: Timestamp,
}

impl StartBackoff {
    /// A start went badly: when the next may be tried. It waits twice as long as the last did, from 200 ms up to 10 s.
    pub(crate) fn fail(&mut self, now: Timestamp, kind: BadStart) -> Timestamp {
        if matches!(kind, BadStart::KilledFromOutside { .. }) && self.forgives_a_foreign_kill(now) {
            // A failure before it may have put the next start off: that stands.
            return self.not_before.max(now);
        }
        let factor = 1_u32.checked_shl(self.bad_starts).unwrap_or(u32::MAX);
        self.bad_starts += 1;
        self.failed_starts += u32::from(!kind.is_at_work());
        self.not_before = now.after(FIRST.saturating_mul(factor).min(LONGEST));
        self.not_before
    }

    /// A call was answered: workers start well again.
    pub(crate) fn reset(&mut self) {
        *self = Self { proven: true, ..Self::default() };
    }

    pub(crate) fn allows(&self, now: Timestamp) -> bool {
        now >= self.not_before
    }

    /// Whether the last start went badly; then workers are tried one at a time.
    pub(crate) fn is_cautious(&self) -> bool {
        self.bad_starts > 0
    }

    /// Whether so many failed that calls should not wait for the next.
    pub(crate) fn is_broken(&self) -> bool {
        self.failed_starts >= BREAKS_AT
    }

    fn forgives_a_foreign_kill(&mut self, now: Timestamp) -> bool {
        let most = if self.proven { FOREIGN_KILLS_FORGIVEN } else { UNPROVEN_KILLS_FORGIVEN };
        self.foreign_kills.forgive(now, most)
    }
}

impl BadStart {
    fn is_at_work(self) -> bool {
        match self {
            BadStart::Failed | BadStart::KilledFromOutside { at_work: false } => false,
            BadStart::DiedAtWork | BadStart::KilledFromOutside { at_work: true } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_200_ms_to_10_s_and_reset() {
        let mut backoff = StartBackoff::default();
        let mut fail = || backoff.fail(Timestamp::ZERO, BadStart::Failed).elapsed().as_millis();
        let waits: Vec<u128> = (0..8).map(|_| fail()).collect();
        assert_eq!(waits, [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        for _ in 0..40 {
            fail();
        }
        assert!(!backoff.allows(Timestamp::from_elapsed(Duration::from_secs(9))));
        backoff.reset();
        assert!(backoff.allows(Timestamp::ZERO) && !backoff.is_cautious() && !backoff.is_broken());
    }

    #[test]
    fn deaths_at_work_put_starts_off_and_break_nothing() {
        let mut backoff = StartBackoff::default();
        for _ in 0..10 {
            backoff.fail(Timestamp::ZERO, BadStart::DiedAtWork);
        }
        assert!(backoff.is_cautious() && !backoff.allows(Timestamp::ZERO) && !backoff.is_broken());
    }

    const KILLED: BadStart = BadStart::KilledFromOutside { at_work: false };

    fn proven() -> StartBackoff {
        let mut backoff = StartBackoff::default();
        backoff.reset();
        backoff
    }

    #[test]
    fn kills_from_outside_are_forgiven_for_a_while() {
        let mut backoff = proven();
        for _ in 0..FOREIGN_KILLS_FORGIVEN {
            backoff.fail(Timestamp::ZERO, KILLED);
        }
        assert!(!backoff.is_cautious() && backoff.allows(Timestamp::ZERO));
        for _ in 0..BREAKS_AT {
            backoff.fail(Timestamp::ZERO, KILLED);
        }
        assert!(backoff.is_broken());
    }

    #[test]
    fn kills_of_slow_starts_are_forgiven_no_longer_than_others() {
        let mut backoff = proven();
        backoff.fail(Timestamp::ZERO, KILLED);
        assert!(!backoff.is_cautious());
        backoff.fail(Timestamp::from_elapsed(FORGIVEN_FOR), KILLED);
        assert!(backoff.is_cautious());
    }

    #[test]
    fn before_any_call_was_answered_few_kills_are_forgiven() {
        let mut backoff = StartBackoff::default();
        for _ in 0..UNPROVEN_KILLS_FORGIVEN + BREAKS_AT {
            assert!(!backoff.is_broken());
            backoff.fail(Timestamp::ZERO, KILLED);
        }
        assert!(backoff.is_broken());
    }

    #[test]
    fn kills_at_work_break_nothing_though_nothing_was_answered() {
        let mut backoff = StartBackoff::default();
        for _ in 0..10 {
            backoff.fail(Timestamp::ZERO, BadStart::KilledFromOutside { at_work: true });
        }
        assert!(backoff.is_cautious() && !backoff.is_broken());
    }

    #[test]
    fn a_forgiven_kill_leaves_the_wait_of_an_earlier_failure() {
        let mut backoff = proven();
        let wait = backoff.fail(Timestamp::ZERO, BadStart::Failed);
        assert_eq!(backoff.fail(Timestamp::ZERO, KILLED), wait);
    }
}
