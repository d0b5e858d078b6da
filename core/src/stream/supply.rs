//! Items of an input stream on their way to the worker: before it has the call they are held, then they are written as its credit allows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ganger_protocol::message::Credit;
use ganger_protocol::{STREAM_CREDIT_BYTES, STREAM_CREDIT_ITEMS};

use super::{Route, Sent, Wake};
use crate::call::Input;

/// The writing side of one call. Its lock may be taken under the pool's, never the other way round.
pub(crate) struct Supply(Mutex<State>);

struct State {
    /// What may still be sent. Bytes may be below zero.
    items: u64,
    bytes: i64,
    /// What was sent before anything was heard of the call: a worker that dies before a byte of it was written had none of them,
    /// and the next one gets them all. Credit bounds them, for it is the first that is heard.
    held: Option<Vec<Input>>,
    ended: bool,
    /// The call is over.
    over: bool,
    /// None before a worker has the call, and after its end.
    route: Option<Route>,
    wake: Option<Wake>,
}

impl Supply {
    pub(crate) fn new() -> Self {
        let state = State {
            items: STREAM_CREDIT_ITEMS.into(),
            bytes: STREAM_CREDIT_BYTES.cast_signed(),
            held: Some(Vec::new()),
            ended: false,
            over: false,
            route: None,
            wake: None,
        };
        Self(Mutex::new(state))
    }

    /// A worker has the call: its frame is in line, and what was sent so far follows.
    pub(crate) fn begin(&self, route: Route) {
        let mut state = self.lock();
        for input in state.held.iter().flatten() {
            route.push_input(input);
        }
        if state.ended {
            route.push_input_end();
        }
        state.route = Some(route);
    }

    /// The worker has the call for certain: nothing will have to be written again.
    pub(crate) fn heard(&self) {
        drop(self.lock().held.take());
    }

    /// The worker has room for more. What comes back is to be called without locks.
    pub(crate) fn grant(&self, credit: Credit) -> Option<Wake> {
        let mut state = self.lock();
        state.items = state.items.saturating_add(credit.items.into());
        state.bytes = state.bytes.saturating_add_unsigned(credit.bytes);
        if state.has_room() { state.wake.take() } else { None }
    }

    /// The call has ended. Not to be called under a lock.
    pub(crate) fn end(&self) {
        let (wake, held) = {
            let mut state = self.lock();
            state.over = true;
            state.route = None;
            (state.wake.take(), state.held.take())
        };
        drop(held);
        if let Some(wake) = wake {
            wake();
        }
    }

    pub(super) fn try_send(&self, input: Input) -> Sent {
        let link = {
            let mut state = self.lock();
            if state.over || state.ended {
                return Sent::Over;
            }
            if !state.has_room() {
                return Sent::Full(input);
            }
            state.items -= 1;
            state.bytes = state.bytes.saturating_sub_unsigned(input.payload.len() as u64);
            let link = state.route.as_ref().and_then(|route| route.push_input(&input));
            if let Some(held) = &mut state.held {
                held.push(input);
            }
            link
        };
        if let Some(link) = link {
            link.flush();
        }
        Sent::Taken
    }

    /// Ends the input stream. False: it had ended, or the call has.
    pub(super) fn finish(&self) -> bool {
        let (first, link) = {
            let mut state = self.lock();
            let first = !state.ended && !state.over;
            state.ended = true;
            (first, state.route.as_ref().filter(|_| first).and_then(Route::push_input_end))
        };
        if let Some(link) = link {
            link.flush();
        }
        first
    }

    /// Whether nothing more will be sent.
    pub(super) fn is_done(&self) -> bool {
        let state = self.lock();
        state.ended || state.over
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Keeps `wake` until there is room. Gives it back if there is.
    pub(super) fn arm(&self, wake: Wake) -> Option<Wake> {
        let mut state = self.lock();
        if state.need_not_wait() {
            return Some(wake);
        }
        let earlier = state.wake.replace(wake);
        drop(state);
        // It may hold anything: not under the lock.
        drop(earlier);
        None
    }

    /// Whether an item may go, or none is wanted any more.
    pub(super) fn need_not_wait(&self) -> bool {
        self.lock().need_not_wait()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.items > 0 && self.bytes > 0
    }

    fn need_not_wait(&self) -> bool {
        self.has_room() || self.ended || self.over
    }
}

impl std::fmt::Debug for Supply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        f.debug_struct("Supply")
            .field("ended", &state.ended)
            .field("over", &state.over)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: u8) -> Input {
        Input::message_pack(vec![number])
    }

    fn held(supply: &Supply) -> usize {
        supply.lock().held.as_ref().map_or(0, Vec::len)
    }

    #[test]
    fn what_was_sent_is_kept_until_the_call_is_heard_of_and_no_longer() {
        let supply = Supply::new();
        for number in 0..10 {
            assert!(matches!(supply.try_send(item(number)), Sent::Taken));
        }
        // The first worker that gets it, and the next if that one dies before a byte of it was written.
        for _ in 0..2 {
            supply.begin(Route::nowhere());
            assert_eq!(held(&supply), 10);
        }
        supply.heard();
        assert_eq!(held(&supply), 0);
        assert!(matches!(supply.try_send(item(10)), Sent::Taken));
        assert_eq!(held(&supply), 0);
    }

    #[test]
    fn a_window_can_be_sent_and_then_what_is_granted() {
        let supply = Supply::new();
        let sent = (0..).take_while(|_| matches!(supply.try_send(item(1)), Sent::Taken)).count();
        assert_eq!(sent, STREAM_CREDIT_ITEMS as usize);
        assert!(supply.arm(Box::new(|| {})).is_none(), "there is something to wait for");
        assert!(supply.grant(Credit { items: 2, bytes: 0 }).is_some(), "who waits is woken");
        assert!(matches!(supply.try_send(item(1)), Sent::Taken));
        assert!(matches!(supply.try_send(item(1)), Sent::Taken));
        assert!(matches!(supply.try_send(item(1)), Sent::Full(_)));
    }

    #[test]
    fn bytes_below_zero_hold_the_next_item_back_until_they_are_paid() {
        let supply = Supply::new();
        let long = Input::raw(vec![0; 3 * (STREAM_CREDIT_BYTES as usize)]);
        assert!(matches!(supply.try_send(long), Sent::Taken));
        assert!(matches!(supply.try_send(item(1)), Sent::Full(_)));
        assert!(supply.grant(Credit { items: 1, bytes: 2 * STREAM_CREDIT_BYTES }).is_none());
        assert!(matches!(supply.try_send(item(1)), Sent::Full(_)), "exactly none is left");
        supply.grant(Credit { items: 0, bytes: 1 });
        assert!(matches!(supply.try_send(item(1)), Sent::Taken));
    }

    #[test]
    fn nothing_is_sent_after_the_end_of_either() {
        let supply = Supply::new();
        assert!(supply.finish() && !supply.finish());
        assert!(matches!(supply.try_send(item(1)), Sent::Over));
        let supply = Supply::new();
        supply.end();
        assert!(matches!(supply.try_send(item(1)), Sent::Over));
        assert!(!supply.finish() && supply.need_not_wait());
    }
}
