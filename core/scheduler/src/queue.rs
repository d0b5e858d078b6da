//! Calls that wait: who is next, and whether there is room for one more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::id::CallId;
use crate::time::Timestamp;

/// A call of one priority more goes as if it had been submitted so much earlier: it passes whatever came less than that before
/// it, and no call waits for ever.
const AGEING: Duration = Duration::from_secs(10);

/// Where a call stands. Smaller goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    /// Nanoseconds: when it was submitted, less its priority's head start.
    turn: i128,
    line: Line,
    call: CallId,
}

impl Rank {
    fn new(call: CallId, line: Line, place: Place) -> Self {
        let head_start =
            i128::from(place.priority) * i128::try_from(AGEING.as_nanos()).expect("ten seconds fit");
        let submitted =
            i128::try_from(place.submitted_at.elapsed().as_nanos()).expect("64 bits fit into 127");
        Self { turn: submitted - head_start, line, call }
    }
}

/// What gives a call its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) priority: i32,
    pub(crate) submitted_at: Timestamp,
    /// It goes with others of this key, so many at most.
    pub(crate) together: Option<(u64, u32)>,
}

impl Place {
    fn herd(self, slots: u32) -> Option<Herd> {
        self.together.map(|(key, max)| Herd { key, slots, max })
    }
}

/// Of calls with the same turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Line {
    /// Calls that had been assigned and come back. They were admitted once and count for no bound.
    Returned,
    /// Calls that wait for their first attempt.
    Fresh,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    slots: u32,
    bytes: u64,
    herd: Option<Herd>,
}

/// Waiting calls that may be handed over together: of one key, with the same slots, so many at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Herd {
    pub(crate) key: u64,
    pub(crate) slots: u32,
    pub(crate) max: u32,
}

/// A waiting call, as seen by who looks for the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    pub(crate) call: CallId,
    pub(crate) slots: u32,
    pub(crate) herd: Option<Herd>,
}

/// A call that asks whether it may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) slots: u32,
    pub(crate) bytes: u64,
}

/// The fresh calls that wait beyond a room, and what those before them leave of it.
#[derive(Debug)]
struct Beyond {
    calls: usize,
    bytes: u64,
    room_left: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    entries: BTreeMap<Rank, Entry>,
    /// Calls that lie at a worker: they wait, and count as that, but are not for others to take.
    lent: BTreeMap<Rank, Entry>,
    ranks: BTreeMap<CallId, Rank>,
    herds: BTreeMap<Herd, BTreeSet<Rank>>,
    /// Of calls that go by themselves.
    slots: u64,
    fresh: usize,
    fresh_bytes: u64,
}

impl Queue {
    /// Whether one more fresh call may wait. The first calls that fit into the `room` which workers have or will have wait
    /// for nothing but a start and count for no bound. Size alone never keeps a call out: when no bytes wait beyond the
    /// room, any size is admitted.
    pub(crate) fn admits(&self, newcomer: Newcomer, room: u64, max_calls: usize, max_bytes: u64) -> bool {
        let within = |calls: usize, bytes: u64| {
            calls < max_calls && (bytes == 0 || bytes.saturating_add(newcomer.bytes) <= max_bytes)
        };
        // Most often the bounds are far and nobody needs to know who will have room.
        if within(self.fresh, self.fresh_bytes) {
            return true;
        }
        let beyond = self.beyond(room);
        u64::from(newcomer.slots) <= beyond.room_left || within(beyond.calls, beyond.bytes)
    }

    pub(crate) fn push_fresh(&mut self, call: CallId, place: Place, slots: u32, bytes: u64) {
        self.fresh += 1;
        self.fresh_bytes += bytes;
        self.insert(Rank::new(call, Line::Fresh, place), Entry { slots, bytes, herd: place.herd(slots) });
    }

    pub(crate) fn push_returned(&mut self, call: CallId, place: Place, slots: u32) {
        self.insert(
            Rank::new(call, Line::Returned, place),
            Entry { slots, bytes: 0, herd: place.herd(slots) },
        );
    }

    /// Takes a call out, wherever it stands. False if it does not wait.
    pub(crate) fn remove(&mut self, call: CallId) -> bool {
        let Some(rank) = self.ranks.remove(&call) else { return false };
        let entry = self.take(rank).0;
        self.forget(rank, entry);
        if rank.line == Line::Fresh {
            self.fresh -= 1;
            self.fresh_bytes -= entry.bytes;
        }
        true
    }

    /// A waiting call takes so many slots after all, or goes with others. It keeps its place in the line.
    pub(crate) fn revise(&mut self, call: CallId, place: Place, slots: u32) {
        let Some(&rank) = self.ranks.get(&call) else { return };
        let (entry, is_lent) = self.take(rank);
        self.forget(rank, entry);
        self.insert(rank, Entry { slots, herd: place.herd(slots), ..entry });
        if is_lent {
            self.lend(call);
        }
    }

    /// A waiting call lies at a worker from now on. It counts as before, and is the next of nobody else.
    pub(crate) fn lend(&mut self, call: CallId) {
        if let Some(&rank) = self.ranks.get(&call)
            && let Some(entry) = self.entries.remove(&rank)
        {
            self.lent.insert(rank, entry);
        }
    }

    /// A call that lay at a worker waits for any again, where it stood.
    pub(crate) fn recover(&mut self, call: CallId) {
        if let Some(&rank) = self.ranks.get(&call)
            && let Some(entry) = self.lent.remove(&rank)
        {
            self.entries.insert(rank, entry);
        }
    }

    /// Those that any worker may have, the next first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.entries.iter().map(|(rank, entry)| Waiting {
            call: rank.call,
            slots: entry.slots,
            herd: entry.herd,
        })
    }

    /// The calls of a herd, best first.
    pub(crate) fn herd(&self, herd: Herd) -> impl Iterator<Item = CallId> + '_ {
        self.herds.get(&herd).into_iter().flatten().map(|rank| rank.call)
    }

    pub(crate) fn first(&self) -> Option<CallId> {
        self.entries.first_key_value().map(|(rank, _)| rank.call)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.lent.is_empty()
    }

    /// All that wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.lent.len()
    }

    /// Slots that all waiting calls want together; those that go together want one call's.
    pub(crate) fn slots(&self) -> u64 {
        let batches = |calls: usize, max: u32| (calls as u64).div_ceil(u64::from(max.max(1)));
        let together =
            self.herds.iter().map(|(herd, calls)| batches(calls.len(), herd.max) * u64::from(herd.slots));
        self.slots + together.sum::<u64>()
    }

    /// Bytes of the calls that count for the bound.
    pub(crate) fn bytes(&self) -> u64 {
        self.fresh_bytes
    }

    /// Looks at no more calls than `room` has slots.
    fn beyond(&self, room: u64) -> Beyond {
        let mut beyond = Beyond { calls: self.fresh, bytes: self.fresh_bytes, room_left: room };
        for (rank, entry) in self.all_in_order() {
            let Some(left) = beyond.room_left.checked_sub(u64::from(entry.slots)) else {
                beyond.room_left = 0;
                break;
            };
            beyond.room_left = left;
            if rank.line == Line::Fresh {
                beyond.calls -= 1;
                beyond.bytes -= entry.bytes;
            }
        }
        beyond
    }

    fn all_in_order(&self) -> impl Iterator<Item = (&Rank, &Entry)> {
        let (mut free, mut lent) = (self.entries.iter().peekable(), self.lent.iter().peekable());
        std::iter::from_fn(move || match (free.peek(), lent.peek()) {
            (Some((one, _)), Some((other, _))) if other < one => lent.next(),
            (Some(_), _) => free.next(),
            (None, _) => lent.next(),
        })
    }

    /// Takes an entry out, and says whether it was lent.
    fn take(&mut self, rank: Rank) -> (Entry, bool) {
        if let Some(entry) = self.entries.remove(&rank) {
            return (entry, false);
        }
        (self.lent.remove(&rank).expect("every rank has its entry"), true)
    }

    fn insert(&mut self, rank: Rank, entry: Entry) {
        match entry.herd {
            Some(herd) => {
                self.herds.entry(herd).or_default().insert(rank);
            }
            None => self.slots += u64::from(entry.slots),
        }
        self.ranks.insert(rank.call, rank);
        let before = self.entries.insert(rank, entry);
        debug_assert!(before.is_none(), "a call waits once");
    }

    fn forget(&mut self, rank: Rank, entry: Entry) {
        let Some(herd) = entry.herd else {
            self.slots -= u64::from(entry.slots);
            return;
        };
        let calls = self.herds.get_mut(&herd).expect("a call of a herd is in it");
        calls.remove(&rank);
        if calls.is_empty() {
            self.herds.remove(&herd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(queue: &Queue, bytes: u64, room: u64, max_calls: usize, max_bytes: u64) -> bool {
        queue.admits(Newcomer { slots: 1, bytes }, room, max_calls, max_bytes)
    }

    /// Submitted after so many seconds.
    fn at(seconds: u64, priority: i32) -> Place {
        Place {
            priority,
            submitted_at: Timestamp::from_elapsed(Duration::from_secs(seconds)),
            together: None,
        }
    }

    fn order(queue: &Queue) -> Vec<u64> {
        queue.in_order().map(|waiting| waiting.call.0).collect()
    }

    #[test]
    fn higher_priority_first_then_order_of_submission() {
        let mut queue = Queue::default();
        queue.push_fresh(CallId(3), at(3, 0), 1, 0);
        queue.push_fresh(CallId(4), at(4, 5), 1, 0);
        queue.push_fresh(CallId(5), at(5, 0), 1, 0);
        queue.push_returned(CallId(1), at(1, 0), 1);
        queue.push_returned(CallId(2), at(2, 0), 1);
        assert_eq!(order(&queue), [4, 1, 2, 3, 5]);
    }

    #[test]
    fn a_call_that_waited_ten_seconds_a_priority_longer_is_passed_no_more() {
        let mut queue = Queue::default();
        queue.push_fresh(CallId(1), at(0, 0), 1, 0);
        queue.push_fresh(CallId(2), at(19, 2), 1, 0);
        queue.push_fresh(CallId(3), at(21, 2), 1, 0);
        assert_eq!(order(&queue), [2, 1, 3]);
    }

    #[test]
    fn a_removed_call_frees_its_place_at_once() {
        let mut queue = Queue::default();
        queue.push_fresh(CallId(1), at(0, 0), 2, 10);
        assert!(!admits(&queue, 1, 0, 1, 100));
        assert!(queue.remove(CallId(1)));
        assert!(!queue.remove(CallId(1)));
        assert!(admits(&queue, 1, 0, 1, 100));
        assert_eq!((queue.slots(), queue.bytes()), (0, 0));
    }

    #[test]
    fn any_size_is_admitted_when_no_bytes_wait_and_returned_calls_count_for_nothing() {
        let mut queue = Queue::default();
        assert!(admits(&queue, 1_000, 0, 1, 10));
        queue.push_returned(CallId(1), at(0, 0), 1);
        assert!(admits(&queue, 1_000, 0, 1, 10));
        queue.push_fresh(CallId(2), at(0, 0), 1, 1_000);
        assert!(!admits(&queue, 1, 0, 5, 10));
    }

    #[test]
    fn calls_that_go_together_want_the_slots_of_one() {
        let mut queue = Queue::default();
        let place = |seconds| Place { together: Some((7, 3)), ..at(seconds, 0) };
        for call in 1..=4 {
            queue.push_fresh(CallId(call), place(call), 2, 0);
        }
        queue.push_fresh(CallId(5), at(5, 0), 1, 0);
        assert_eq!(queue.slots(), 2 + 2 + 1);
        let herd = queue.in_order().next().and_then(|waiting| waiting.herd).unwrap();
        assert!(queue.remove(CallId(2)));
        assert_eq!(queue.herd(herd).collect::<Vec<_>>(), [CallId(1), CallId(3), CallId(4)]);
        queue.revise(CallId(4), at(4, 0), 1);
        assert_eq!(queue.slots(), 2 + 1 + 1);
    }

    #[test]
    fn calls_that_will_find_room_count_for_no_bound() {
        let mut queue = Queue::default();
        queue.push_fresh(CallId(1), at(0, 0), 2, 1_000);
        assert!(admits(&queue, 1_000, 3, 0, 0));
        assert!(!admits(&queue, 1_000, 2, 0, 0));
        queue.push_fresh(CallId(2), at(0, 0), 2, 5);
        assert!(admits(&queue, 5, 3, 2, 10));
        assert!(!admits(&queue, 6, 3, 2, 10));
        assert!(!admits(&queue, 5, 3, 1, 10));
    }
}
